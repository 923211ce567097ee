package master

import (
	"reflect"
	"testing"
)

// Every field of Times has a default; Scale changes those that are not for work.
func TestTimes(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[Times]().NumField(); len(new(Times).fields()) != n {
		t.Errorf("fields returns %d of %d fields", len(new(Times).fields()), n)
	}
	usual := DefaultTimes()
	for i, d := range usual.fields() {
		if *d <= 0 {
			t.Errorf("field %d has no default", i)
		}
	}
	want := usual
	want.Suspect, want.Lost, want.Lease, want.Renew, want.Flush = usual.Suspect/2, usual.Lost/2, usual.Lease/2, usual.Renew/2, usual.Flush/2
	if got := (Times{}).Scale(0.5); got != want {
		t.Errorf("half of the defaults is %+v, want %+v", got, want)
	}
}
