package bus

import (
	"reflect"
	"testing"
	"time"
)

// Every field of Times has a default and is scaled.
func TestTimes(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[Times]().NumField(); len(new(Times).fields()) != n {
		t.Errorf("fields returns %d of %d fields", len(new(Times).fields()), n)
	}
	usual := Times{}.withDefaults()
	if usual != DefaultTimes() {
		t.Errorf("the defaults of no Times are %+v", usual)
	}
	for i, d := range usual.fields() {
		if *d <= 0 {
			t.Errorf("field %d has no default", i)
		}
	}
	if half := (Times{}).Scale(0.5); half.Registry != usual.Registry/2 || half.Ping != usual.Ping/2 || half.Store != usual.Store {
		t.Errorf("half of the defaults is %+v", half)
	}
	if got := (Times{Ping: time.Second}).Scale(0.001); got.Ping != time.Millisecond || got.Heartbeat != minHeartbeat {
		t.Errorf("scaled to %+v", got)
	}
}
