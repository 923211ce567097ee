//go:build unix

package live

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// terminalSignals are those about the terminal.
var terminalSignals = []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGQUIT}

// signal acts on a signal about the terminal. Only the goroutine that draws may call it: it
// waits in SIGTSTP until the process is continued, and reads signals then.
func (t *Terminal) signal(s os.Signal, signals <-chan os.Signal) {
	switch s {
	case syscall.SIGWINCH:
		t.width, t.height = windowSize(t.out)
		t.wipe()
	case syscall.SIGTSTP: // Ctrl-Z: back to the shell
		if orphaned() {
			return
		}
		t.leave()
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // once caught, SIGTSTP cannot stop the process any more
		select {                                            // the stop takes effect some time later
		case <-signals:
		case <-time.After(time.Second):
		}
		t.enter()
	case syscall.SIGCONT: // after a stop that could not be caught, or in the background
		t.leave()
		t.enter()
	case syscall.SIGQUIT: // Ctrl-\: all goroutines are printed
		t.leave()
		signal.Reset(syscall.SIGQUIT)
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
	}
}
