package runner

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/wire"
)

// Limits of a class of users.
const (
	maxUsers   = 10_000_000
	maxRate    = 10_000_000 // starts a second
	maxClasses = 100
	maxName    = 64 // bytes, so that every metric of the class fits its title
)

// Check validates a scenario. It returns the classes in the order of vus, with their names and
// their loads as text. A class without a name gets one from className, with "-2" and so on if
// another class has it. With an error no classes are returned; unless it is about their
// number, it names the class and what is wrong in it.
func Check(vus scenario.Vus) ([]*wire.Class, error) {
	if len(vus) == 0 {
		return nil, errors.New("export() returned no classes of users: return at least one scenario.Vu")
	}
	if len(vus) > maxClasses {
		return nil, fmt.Errorf("export() returned %d classes of users: at most %d are allowed", len(vus), maxClasses)
	}
	names := map[string]bool{}
	var classes []*wire.Class
	for i, vu := range vus {
		c, err := check(vu)
		if err != nil {
			return nil, fmt.Errorf("class %d (%q): %w", i+1, c.Name, err)
		}
		if vu.Name == "" { // two classes may share a function, but not a name
			base := c.Name
			for n := 2; names[c.Name]; n++ {
				c.Name = fmt.Sprintf("%s-%d", base, n)
			}
		}
		if names[c.Name] {
			return nil, fmt.Errorf("class %d: Name %q is used by another class: each class needs its own", i+1, c.Name)
		}
		names[c.Name] = true
		classes = append(classes, c)
	}
	return classes, nil
}

// hasControls reports whether a name has control characters.
func hasControls(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// check validates a class and returns it. With an error, too, it returns a class, with at
// least its name.
func check(vu scenario.Vu) (*wire.Class, error) {
	c := &wire.Class{Name: className(vu), Nu: int64(vu.Nu), Rate: vu.Rate}
	roles := 0
	for _, set := range []bool{vu.Fu != nil, vu.Start != nil, vu.Exec != nil, len(vu.Steps) > 0, len(vu.Tasks) > 0} {
		if set {
			roles++
		}
	}
	switch {
	case roles != 1:
		return c, fmt.Errorf("%d of Fu, Start, Exec, Steps and Tasks are set: set exactly one", roles)
	case len(vu.Name) > maxName || hasControls(vu.Name):
		return c, fmt.Errorf("field Name is longer than %d bytes or has control characters", maxName)
	case vu.Nu < 1:
		return c, fmt.Errorf("field Nu is %d: want the number of users, 1 or more", vu.Nu)
	case vu.Nu > maxUsers:
		return c, fmt.Errorf("field Nu is %d: at most %d users a class are allowed", vu.Nu, maxUsers)
	case math.IsNaN(vu.Rate) || vu.Rate < 0 || vu.Rate > maxRate:
		return c, fmt.Errorf("field Rate is %v: want the users started per second, 0 (all at once) to %d", vu.Rate, maxRate)
	}
	if err := errors.Join(checkTasks(vu.Tasks), checkSteps(vu.Steps)); err != nil {
		return c, err
	}
	c.Closed = true
	switch load := vu.Load.(type) {
	case nil:
		c.Load, c.Closed = "once a user", vu.Fu == nil
	case scenario.Loop:
		if load <= 0 {
			return c, fmt.Errorf("field Load is Loop(%v): want a time above 0", time.Duration(load))
		}
		c.Load, c.LoopNs = "loop for "+time.Duration(load).String(), int64(load)
	case scenario.Times:
		if load < 1 {
			return c, fmt.Errorf("field Load is Times(%d): want 1 iteration or more", load)
		}
		c.Load, c.Iterations, c.Each = fmt.Sprintf("%d iterations a user", load), int64(load), true
	case scenario.Shared:
		if load < 1 {
			return c, fmt.Errorf("field Load is Shared(%d): want 1 iteration or more", load)
		}
		c.Load, c.Iterations = fmt.Sprintf("%d iterations shared", load), int64(load)
	case scenario.Ramp:
		return c, checkRamp(load, vu, c)
	case scenario.Arrival:
		c.Closed = false
		return c, checkArrival(load, c)
	default:
		return c, fmt.Errorf("field Load is a %T: want scenario.Loop, Times, Shared, Ramp or Arrival", load)
	}
	return c, nil
}

// checkRamp validates a Ramp and sets c's Load and Stages. With an error c is incomplete.
func checkRamp(load scenario.Ramp, vu scenario.Vu, c *wire.Class) error {
	if len(load) == 0 {
		return errors.New("field Load is a Ramp without stages: want at least one, as scenario.Users{To: 50, Over: time.Minute}")
	}
	if vu.Rate != 0 {
		return fmt.Errorf("field Rate is %v beside a Ramp, which says itself when users start: leave Rate out", vu.Rate)
	}
	var stages []string
	before := 0
	for i, s := range load {
		switch {
		case s.To < 0 || s.To > vu.Nu:
			return fmt.Errorf("field Load: stage %d of the Ramp has To %d: want 0 to Nu, which is %d", i+1, s.To, vu.Nu)
		case s.Over < 0:
			return fmt.Errorf("field Load: stage %d of the Ramp has Over %v: want a time above 0, or 0 to jump", i+1, s.Over)
		}
		stages = append(stages, stage(s.To == before, fmt.Sprint(s.To), s.Over, s.Warmup))
		before = s.To
		c.Stages = append(c.Stages, &wire.Stage{To: float64(s.To), OverNs: int64(s.Over), Warmup: s.Warmup})
	}
	c.Load = "active users: " + strings.Join(stages, ", ")
	return nil
}

// stage describes a stage of a load: it holds a value, or goes to it.
func stage(holds bool, to string, over time.Duration, warmup bool) (s string) {
	switch {
	case over == 0:
		s = "at once " + to
	case holds:
		s = fmt.Sprintf("%s for %v", to, over)
	default:
		s = fmt.Sprintf("to %s over %v", to, over)
	}
	if warmup {
		s += " (warm-up)"
	}
	return s
}

// checkArrival validates an Arrival and sets c's Load and Stages. With an error c is
// incomplete.
func checkArrival(load scenario.Arrival, c *wire.Class) error {
	if len(load.Stages) == 0 {
		return errors.New("field Load is an Arrival without Stages: want at least one, as scenario.Rate{To: 500, Over: time.Minute}")
	}
	if load.Queue < 0 || load.Drop && load.Queue > 0 {
		return fmt.Errorf("field Load: Queue is %d and Drop %v: want a Queue of 0 (no limit) or more, and none with Drop", load.Queue, load.Drop)
	}
	var stages []string
	most, length := 0.0, time.Duration(0)
	for i, s := range load.Stages {
		switch {
		case math.IsNaN(s.To) || s.To < 0 || s.To > maxRate:
			return fmt.Errorf("field Load: stage %d of the Arrival has To %v: want the starts per second, 0 to %d", i+1, s.To, maxRate)
		case s.Over < 0:
			return fmt.Errorf("field Load: stage %d of the Arrival has Over %v: want a time above 0, or 0 to jump", i+1, s.Over)
		}
		most = max(most, s.To)
		length += s.Over
		stages = append(stages, stage(i == 0 || s.To == load.Stages[i-1].To, fmt.Sprintf("%v/s", s.To), s.Over, s.Warmup))
		c.Stages = append(c.Stages, &wire.Stage{To: s.To, OverNs: int64(s.Over), Warmup: s.Warmup})
	}
	if most == 0 || length == 0 {
		return errors.New("field Load: no stage of the Arrival has a rate and a time above 0")
	}
	how, full := "evenly", "else starts queue"
	if c.Poisson = load.Poisson; load.Poisson {
		how = "as a Poisson process"
	}
	if load.Drop {
		full = "else starts are dropped"
	} else if load.Queue > 0 {
		full = fmt.Sprintf("else at most %d starts queue", load.Queue)
	}
	c.Load = fmt.Sprintf("%s, %s, while a user is free, %s", strings.Join(stages, ", "), how, full)
	return nil
}

// className returns the name of the class, or else that of its function or type without the
// package, "tasks", "steps" or "users", cut to 56 bytes to leave room for a suffix.
func className(vu scenario.Vu) string {
	if vu.Name != "" {
		return vu.Name
	}
	var name string
	switch {
	case vu.Fu != nil:
		name = funcName(vu.Fu)
	case vu.Start != nil:
		name = funcName(vu.Start)
	case len(vu.Tasks) > 0:
		name = "tasks"
	case len(vu.Steps) > 0:
		name = "steps"
	case vu.Exec != nil:
		name = strings.TrimLeft(reflect.TypeOf(vu.Exec).String(), "*")
		name = name[strings.LastIndexByte(name, '.')+1:]
	}
	if name == "" {
		name = "users"
	}
	return name[:min(len(name), maxName-8)]
}

// funcName returns the name of the function f without its package, as "user" or "(*T).Start";
// "" if it is unknown.
func funcName(f any) string {
	fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	if fn == nil {
		return ""
	}
	name := fn.Name()
	name = name[strings.LastIndexByte(name, '/')+1:]
	_, name, _ = strings.Cut(name, ".")
	return strings.TrimSuffix(name, "-fm")
}
