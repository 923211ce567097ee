package run

import "testing"

// counted is a finished run of a class and a client with these counts.
func counted(counts map[Role]int64) *Result {
	r := &Result{State: Finished, Verdict: Valid, Complete: true, Seconds: 1, Measured: 1}
	for _, role := range []Role{OpBegun, OpOK, OpUnanswered, ClassPlanned, ClassBegun, ClassDone, ClassFailed, ClassDropped, ClassUnserved, ClassVoid, ClassLost} {
		n, of := counts[role], "a"
		if role == OpBegun || role == OpOK || role == OpUnanswered {
			of = "http"
		}
		r.Metrics = append(r.Metrics, Metric{Title: string(role), Type: Counter, Counts: Counts{Role: role, Of: of}, Record: Record{Count: &n}})
	}
	return r
}

// The exit status of a finished run, by what it did and by the words of --strict.
func TestExitStatusOfStrict(t *testing.T) {
	t.Parallel()
	well := map[Role]int64{OpBegun: 9, OpOK: 9, ClassBegun: 9, ClassDone: 9}
	with := func(role Role) map[Role]int64 {
		all := map[Role]int64{ClassPlanned: 12, role: 3}
		for k, v := range well {
			if k != role {
				all[k] = v
			}
		}
		return all
	}
	for name, tt := range map[string]struct {
		counts map[Role]int64
		change func(*Result)
		words  string
		want   int
	}{
		"well":                             {well, nil, "invalid,suspect,incomplete,undecided", ExitOK},
		"dropped starts":                   {with(ClassDropped), nil, "incomplete", ExitInvalid},
		"starts not served":                {with(ClassUnserved), nil, "incomplete", ExitInvalid},
		"without the word":                 {with(ClassUnserved), nil, "suspect,undecided", ExitOK},
		"no data left":                     {with(ClassVoid), nil, "incomplete", ExitInvalid},
		"lost":                             {with(ClassLost), nil, "incomplete", ExitInvalid},
		"suspect":                          {well, func(r *Result) { r.Verdict = Suspect }, "suspect", ExitInvalid},
		"invalid, too":                     {well, func(r *Result) { r.Verdict = Invalid }, "suspect", ExitInvalid},
		"only suspect":                     {well, func(r *Result) { r.Verdict = Suspect }, "invalid", ExitOK},
		"undecided":                        {well, func(r *Result) { r.Thresholds = []Threshold{{Undecided: true}} }, "undecided", ExitUndecided},
		"crossed, too":                     {well, func(r *Result) { r.Thresholds = []Threshold{{Undecided: true}, {}} }, "undecided", ExitCrossed},
		"nothing was answered":             {map[Role]int64{OpBegun: 3, OpUnanswered: 3, ClassBegun: 3, ClassDone: 3, ClassFailed: 3}, nil, "invalid", ExitFailed},
		"all iterations failed before one": {map[Role]int64{ClassBegun: 555, ClassDone: 555, ClassFailed: 555}, nil, "invalid", ExitFailed},
		"some iterations made no request":  {map[Role]int64{ClassBegun: 5, ClassDone: 5, ClassFailed: 4}, nil, "invalid", ExitOK},
	} {
		strict, err := ParseStrict(tt.words)
		if err != nil {
			t.Fatal(err)
		}
		r := counted(tt.counts)
		if tt.change != nil {
			tt.change(r)
		}
		if got := r.ExitStatus(Exit{Strict: strict}); got != tt.want {
			t.Errorf("%s: status %d, want %d (%s)", name, got, tt.want, r.Incomplete())
		}
	}
}
