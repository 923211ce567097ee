package dis_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/dis"
)

// An even schedule of 1000 starts a second, ended by its context.
func ExamplePacer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	starts := 0
	p := dis.NewPacer(1000, false)
	for p.Wait(ctx) == nil {
		if starts++; starts == 20 {
			cancel() // the end of the run
		}
	}
	fmt.Println(starts, "starts")
	// Output: 20 starts
}

// Five steps, a hundred a second on average.
func ExampleSleepRatePoisson() {
	for range 5 {
		// ... one step of the user ...
		dis.SleepRatePoisson(100)
	}
}

func ExampleRandomString() {
	fmt.Println(len(dis.RandomString(16)), "letters and digits")
	// Output: 16 letters and digits
}
