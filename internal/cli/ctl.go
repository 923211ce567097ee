package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// wish is what gobench ctl asks of a run, a line of JSON over the run's socket.
type wish struct {
	What  string  `json:"what"` // pause, resume, scale, stop, cancel
	Class string  `json:"class,omitempty"`
	Users int64   `json:"users"` // below 0: as they are
	Rate  float64 `json:"rate"`  // below 0: as it is
}

// answer is what the run says to it.
type answer struct {
	Error string `json:"error,omitempty"`
}

const (
	controlSocket = "ctl"            // in the run's folder, for its user alone
	controlLimit  = 10 * time.Second // of one wish
)

func (a *app) ctlCommand() *cobra.Command {
	w := wish{}
	var at masterFlags
	cmd := &cobra.Command{
		Use:   "ctl ID pause|resume|scale|stop|cancel",
		Short: "Change a run that goes on",
		Long: `Change a run that goes on in another terminal. ID is as in gobench show.

pause holds all iterations until resume; scale sets the rate of an open load or the
number of active users; stop ends the load and lets what is in flight finish, as
Ctrl-C does; cancel ends it at once. The change stands in the result with its time.
With --master it is a run of that master.`,
		Example: "  gobench ctl last pause\n  gobench ctl last scale --rate 500\n  gobench ctl x7k2 scale --class buyer --users 20\n  gobench ctl last stop\n  gobench ctl last scale --rate 500 --master http://127.0.0.1:8080",
		Args:    exactArgs(2, "the run's id and what to do"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, s string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []string{"pause", "resume", "scale", "stop", "cancel"}, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeIDs(cmd, args, s)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w.What = args[1]
			given := cmd.Flags().Changed
			switch w.What {
			case "pause", "resume", "stop", "cancel":
				if given("rate") || given("users") || given("class") {
					return usageError("", "--rate, --users and --class are of scale")
				}
			case "scale":
				if !given("rate") && !given("users") {
					return usageError("gobench ctl last scale --rate 500", "say what to scale: --rate or --users")
				}
				if given("rate") && !(w.Rate >= 0) || given("users") && w.Users < 0 {
					return usageError("", "--rate %v, --users %d: want 0 or more", w.Rate, w.Users)
				}
			default:
				return usageError("pause, resume, scale, stop or cancel", "gobench ctl can't %q", w.What)
			}
			if at.url != "" {
				return a.askMaster(cmd.Context(), at, args[0], w)
			}
			return a.ask(args[0], w)
		},
	}
	cmd.Flags().Float64Var(&w.Rate, "rate", -1, "scale: starts a second of an open load")
	cmd.Flags().Int64Var(&w.Users, "users", -1, "scale: active users")
	cmd.Flags().StringVar(&w.Class, "class", "", "scale: the class, where there are several")
	at.add(cmd, "`URL` of the master whose run it is")
	return cmd
}

// ask sends w to the run that part names.
func (a *app) ask(part string, w wish) error {
	h := a.history()
	id, err := h.Find(part)
	if err != nil {
		return &exitError{exitUsage, err, "gobench runs lists them"}
	}
	conn, err := net.DialTimeout("unix", filepath.Join(h.Dir(id), controlSocket), time.Second)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return &exitError{exitFailed, fmt.Errorf("run %s does not go on", id), ""}
	}
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("reach run %s: %w", id, err), ""}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(controlLimit + time.Second)) // it only fails on a closed connection
	var said answer
	if err := errors.Join(json.NewEncoder(conn).Encode(w), json.NewDecoder(conn).Decode(&said)); err != nil {
		return &exitError{exitFailed, fmt.Errorf("run %s did not answer: %w", id, err), ""}
	}
	if said.Error != "" {
		return &exitError{exitFailed, errors.New(said.Error), ""}
	}
	fmt.Fprintf(a.stdout, "run %s: %s\n", id, w.What)
	return nil
}

// askMaster asks a master what w says of a run.
func (a *app) askMaster(ctx context.Context, at masterFlags, part string, w wish) error {
	c, err := a.client(at)
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := remoteID(ctx, c, part)
	if err != nil {
		return err
	}
	switch w.What {
	case "stop":
		err = c.Stop(ctx, id)
	case "cancel":
		err = c.Cancel(ctx, id)
	default:
		change := types.Control{What: w.What, Class: w.Class}
		if w.Users >= 0 {
			change.Users = &w.Users
		}
		if w.Rate >= 0 {
			change.Rate = &w.Rate
		}
		err = c.Control(ctx, id, change)
	}
	if client.IsCode(err, types.Invalid) {
		return &exitError{exitFailed, err, ""} // as a run of this machine answers
	}
	if err != nil {
		return refusal(err)
	}
	fmt.Fprintf(a.stdout, "run %s: %s\n", id, w.What)
	return nil
}

// listen serves the run's socket until the function it returns is called. A folder
// whose path is too long for a socket has none: the run goes on without.
func (l *localRun) listen() (stop func()) {
	path := filepath.Join(l.folder.Dir(), controlSocket)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return func() {}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return func() {}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			wg.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(controlLimit))
				l.grant(conn)
			})
		}
	})
	return func() {
		listener.Close() // removes the socket
		wg.Wait()
	}
}

// grant reads one wish and answers it.
func (l *localRun) grant(conn net.Conn) {
	line, err := bufio.NewReaderSize(conn, 4096).ReadSlice('\n')
	w := wish{Users: -1, Rate: -1}
	if err == nil {
		err = json.Unmarshal(line, &w)
	}
	if err == nil {
		err = l.follow(w, "gobench ctl")
	}
	said := answer{}
	if err != nil {
		said.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(said) // who asked may be gone
}

// follow does what w asks, for whom it says.
func (l *localRun) follow(w wish, by string) error {
	switch w.What {
	case "stop":
		l.end(false, by)
	case "cancel":
		l.end(true, by)
	default:
		if err := l.executor.Control(&wire.Control{What: w.What, Class: w.Class, Users: w.Users, Rate: w.Rate}); err != nil {
			return err
		}
		change := &event.Change{What: w.What, Class: w.Class, By: by}
		if w.Users >= 0 && w.What == "scale" {
			change.Users = &w.Users
		}
		if w.Rate >= 0 && w.What == "scale" {
			change.Rate = &w.Rate
		}
		l.tell(event.Event{Kind: event.Control, Control: change, Text: units.Safe(strings.TrimSpace(fmt.Sprintf("%s by %s %s", w.What, by, w.numbers())))})
	}
	return nil
}

// numbers tells what a scale sets.
func (w wish) numbers() (s string) {
	if w.What != "scale" {
		return ""
	}
	if w.Rate >= 0 {
		s += fmt.Sprintf("rate %v/s ", w.Rate)
	}
	if w.Users >= 0 {
		s += fmt.Sprintf("users %d ", w.Users)
	}
	return s + w.Class
}
