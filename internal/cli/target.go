package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gobench-io/gobench/internal/demoserver"
	"github.com/gobench-io/gobench/internal/run/units"
)

// targetCommand returns gobench target, which only prints its help, with its subcommand
// http.
func (a *app) targetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "target",
		Short:   "Run a small server to put load on",
		Example: "  gobench target http --addr 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(a.targetHTTPCommand())
	return cmd
}

// targetHTTPCommand returns gobench target http. It serves until Ctrl-C or SIGTERM, and then
// prints how many requests it answered. That has exit status 0, or 1, without the number, if
// requests in flight take longer than 5 s.
func (a *app) targetHTTPCommand() *cobra.Command {
	var addr string
	t := &demoserver.HTTP{}
	cmd := &cobra.Command{
		Use:   "http",
		Short: "Answer every HTTP request with the same page",
		Long: `Answer every HTTP request with the same page, until Ctrl-C; then print how many
requests were answered, to compare with a run's own count.`,
		Example: `  gobench target http
  gobench target http --addr 127.0.0.1:0 --delay 20ms --size 1000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.Size < 0 || t.Size > 1<<30 {
				return usageError("", "--size is %d: want 0 to %d bytes", t.Size, 1<<30)
			}
			if t.Delay < 0 {
				return usageError("", "--delay is %v: want 0 or more", t.Delay)
			}
			l, err := net.Listen("tcp", addr)
			if errors.Is(err, syscall.EADDRINUSE) {
				return &exitError{exitFailed, fmt.Errorf("the address %s is used by another program", addr), "--addr names another; port 0 takes a free one"}
			}
			switch {
			case errors.Is(err, syscall.EADDRNOTAVAIL):
				return &exitError{exitFailed, fmt.Errorf("%s is not an address of this machine", addr), "127.0.0.1 can be reached from this machine only, 0.0.0.0 stands for all of its addresses"}
			case errors.Is(err, syscall.EACCES):
				return &exitError{exitFailed, fmt.Errorf("the port of %s needs root", addr), "use one from 1024 on"}
			case err != nil:
				return usageError("write it as host:port, as in 127.0.0.1:8080", "--addr %s: %v", addr, err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			fmt.Fprintf(a.stdout, "listening on http://%s/ (Ctrl-C ends it)\n", l.Addr())
			began := time.Now()
			if err := t.Serve(ctx, l); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "answered %s requests in %s\n", units.Count(t.Served()), units.Seconds(time.Since(began).Seconds()))
			return nil
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address to listen on, host:port; port 0 takes a free one")
	timeVar(cmd.Flags(), &t.Delay, "delay", "", 0, "wait this long before each response")
	cmd.Flags().IntVar(&t.Size, "size", 612, "size of the page in bytes")
	return cmd
}
