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
	usual, half := Times{}.withDefaults(), Times{}.Scale(0.5)
	if usual != DefaultTimes() {
		t.Errorf("the defaults of no Times are %+v", usual)
	}
	for i, d := range usual.fields() {
		if *d <= 0 || *half.fields()[i] != *d/2 {
			t.Errorf("field %d is %v, and half of it %v", i, *d, *half.fields()[i])
		}
	}
	if got := (Times{Ping: time.Second}).Scale(0.001); got.Ping != time.Millisecond || got.Heartbeat != minHeartbeat {
		t.Errorf("scaled to %+v", got)
	}
}
