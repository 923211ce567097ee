package runner

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
)

func nothing(context.Context, int) {}

type loop struct{ scenario.Load } // a load type that this gobench does not know

// F44: an invalid result of export() is refused before the start, with class and field.
func TestCheckRefuses(t *testing.T) {
	fine := scenario.Vu{Nu: 1, Fu: nothing}
	for name, tt := range map[string]struct {
		vus  scenario.Vus
		want []string
	}{
		"nil":                      {nil, []string{"export()", "no classes"}},
		"no users":                 {scenario.Vus{fine, {Fu: nothing}}, []string{`class 2 ("nothing")`, "Nu is 0"}},
		"negative users":           {scenario.Vus{{Nu: -5, Fu: nothing}}, []string{"Nu is -5"}},
		"a billion users":          {scenario.Vus{{Nu: 1e9, Fu: nothing}}, []string{"Nu is 1000000000", "10000000"}},
		"negative rate":            {scenario.Vus{{Nu: 1, Rate: -1, Fu: nothing}}, []string{"Rate is -1"}},
		"NaN":                      {scenario.Vus{{Nu: 1, Rate: math.NaN(), Fu: nothing}}, []string{"Rate is NaN"}},
		"infinite":                 {scenario.Vus{{Nu: 1, Rate: math.Inf(1), Fu: nothing}}, []string{"Rate is +Inf"}},
		"nothing to do":            {scenario.Vus{{Nu: 1}}, []string{`class 1 ("users")`, "Fu, Start, Exec, Steps and Tasks", "exactly one"}},
		"a step without Exec":      {scenario.Vus{{Nu: 1, Steps: []scenario.Step{{Name: "a"}}}}, []string{`step 1 ("a") has no Exec`}},
		"a step without a name":    {scenario.Vus{{Nu: 1, Steps: []scenario.Step{{Name: "a", Exec: &part{}}, {Exec: &part{}}}}}, []string{"step 2 has the Name", "1 to 64 bytes"}},
		"a step's name with a tab": {scenario.Vus{{Nu: 1, Steps: []scenario.Step{{Name: "a\t", Exec: &part{}}}}}, []string{"step 1 has the Name"}},
		"two steps of one name":    {scenario.Vus{{Nu: 1, Steps: []scenario.Step{{Name: "a", Exec: &part{}}, {Name: "a", Exec: &part{}}}}}, []string{"two steps have the Name"}},
		"two things to do":         {scenario.Vus{{Nu: 1, Fu: nothing, Start: func(context.Context, int) (scenario.User, error) { return nil, nil }}}, []string{"2 of Fu, Start, Exec, Steps and Tasks"}},
		"a task of nothing":        {scenario.Vus{{Nu: 1, Tasks: []scenario.Task{{Name: "a", Weight: 1}}}}, []string{`task 1 ("a") has no Fn`}},
		"negative weight":          {scenario.Vus{{Nu: 1, Tasks: []scenario.Task{{Name: "a", Weight: -1, Fn: nothing}}}}, []string{`task 1 ("a") has Weight -1`}},
		"no weight at all":         {scenario.Vus{{Nu: 1, Tasks: []scenario.Task{{Fn: nothing}}}}, []string{"no task has a Weight above 0"}},
		"tasks of one name":        {scenario.Vus{{Nu: 1, Tasks: []scenario.Task{{Weight: 1, Fn: nothing}, {Weight: 1, Fn: nothing}}}}, []string{`two tasks are called "nothing"`}},
		"loop of no time":          {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Loop(-time.Second)}}, []string{"Load is Loop(-1s)"}},
		"no iterations":            {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Times(0)}}, []string{"Load is Times(0)"}},
		"none shared":              {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Shared(-1)}}, []string{"Load is Shared(-1)"}},
		"ramp of nothing":          {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Ramp{}}}, []string{"Ramp without stages"}},
		"ramp above Nu":            {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Ramp{{To: 2, Over: time.Second}}}}, []string{"stage 1 of the Ramp has To 2", "Nu, which is 1"}},
		"ramp back in time":        {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Ramp{{To: 1}, {To: 1, Over: -1}}}}, []string{"stage 2 of the Ramp has Over -1ns"}},
		"ramp beside a rate":       {scenario.Vus{{Nu: 1, Rate: 5, Fu: nothing, Load: scenario.Ramp{{To: 1}}}}, []string{"Rate is 5 beside a Ramp"}},
		"no stages":                {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Arrival{}}}, []string{"Arrival without Stages"}},
		"a rate of NaN":            {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Arrival{Stages: at(math.NaN(), time.Second)}}}, []string{"stage 1 of the Arrival has To NaN"}},
		"no rate at all":           {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Arrival{Stages: at(0, time.Second)}}}, []string{"no stage of the Arrival has a rate"}},
		"drop and queue":           {scenario.Vus{{Nu: 1, Fu: nothing, Load: scenario.Arrival{Stages: at(1, time.Second), Drop: true, Queue: 3}}}, []string{"Queue is 3 and Drop true"}},
		"unknown load":             {scenario.Vus{{Nu: 1, Fu: nothing, Load: loop{}}}, []string{"Load is a runner.loop"}},
		"a name twice":             {scenario.Vus{{Nu: 1, Fu: nothing, Name: "a"}, {Nu: 1, Fu: nothing, Name: "a"}}, []string{"class 2", `Name "a" is used`}},
		"a long name":              {scenario.Vus{{Nu: 1, Fu: nothing, Name: strings.Repeat("a", 65)}}, []string{"longer than 64 bytes"}},
		"control characters":       {scenario.Vus{{Nu: 1, Fu: nothing, Name: "a\x1b"}}, []string{"control characters"}},
		"too many":                 {make(scenario.Vus, 101), []string{"101 classes"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Check(tt.vus)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestClassNames(t *testing.T) {
	classes, err := Check(scenario.Vus{
		{Nu: 1, Fu: nothing}, {Nu: 1, Fu: nothing}, {Nu: 1, Fu: nothing, Name: "mine"},
		{Nu: 1, Fu: func(context.Context, int) {}}, {Nu: 1, Exec: &chain{}, Load: scenario.Loop(time.Second)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range classes {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "nothing nothing-2 mine TestClassNames.func1 chain" {
		t.Errorf("names = %s", got)
	}
	if classes[0].Closed || !classes[4].Closed || classes[4].Load != "loop for 1s" {
		t.Errorf("closed %v, %v; load %q", classes[0].Closed, classes[4].Closed, classes[4].Load)
	}
}
