package cli

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// timeValue is the flag of a time, as 30s or 2m. A plain number is in seconds, as with wrk
// and ab.
type timeValue time.Duration

// Set parses a time. Negative ones are valid: commands check the range. On an error the
// value is unchanged.
func (t *timeValue) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n *= float64(time.Second); n > -1<<63 && n < 1<<63 { // also not NaN
			*t = timeValue(n)
			return nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time, as 500ms, 30s or 2m")
	}
	*t = timeValue(d)
	return nil
}

func (t *timeValue) String() string { return time.Duration(*t).String() }
func (t *timeValue) Type() string   { return "duration" }

// timeVar adds a timeValue flag that sets *p, and sets *p to def now. An empty short
// stands for no short name.
func timeVar(fs *pflag.FlagSet, p *time.Duration, name, short string, def time.Duration, usage string) {
	*p = def
	fs.VarP((*timeValue)(p), name, short, usage)
}
