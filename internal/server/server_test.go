package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/server"
)

func TestMain(m *testing.M) {
	sandbox.Main() // a sandbox's helper is this program, too
	if server.IsCompiler() {
		compiler()
	}
	os.Exit(m.Run())
}

// compiler is a compiler that reports a step and waits for a file, the source of its order.
// Without one it fails: these tests compile nothing.
func compiler() {
	var order struct{ Source string }
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil || order.Source == "" {
		os.Exit(1)
	}
	fmt.Println(`{"Step": "wait"}`)
	for {
		if _, err := os.Stat(order.Source); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println(`{"Path": "here"}`)
	os.Exit(0)
}

func options(t *testing.T) server.Options {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return server.Options{Dir: t.TempDir(), Listener: l, AgentAddr: "127.0.0.1:0", RunLimit: time.Hour, CompileLimit: time.Minute,
		Cache: filepath.Join(t.TempDir(), "cache"), NoWarm: true, Log: slog.New(slog.DiscardHandler)}
}

// A server starts, has a link for its first user, and is closed so that the next one
// starts from the same folder.
func TestRunAndShutdown(t *testing.T) {
	t.Parallel()
	o := options(t)
	for _, end := range []func(*server.Server, context.CancelFunc){
		func(s *server.Server, _ context.CancelFunc) { s.Shutdown(context.Background()) },
		func(s *server.Server, _ context.CancelFunc) { s.End() },
		func(_ *server.Server, cancel context.CancelFunc) { cancel() },
	} {
		var err error
		if o.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		links := make(chan string, 1)
		o.Ready = func(link string) { links <- link }
		ctx, cancel := context.WithCancel(t.Context())
		s, err := server.New(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Run() }()
		link := <-links
		if !strings.Contains(link, o.Listener.Addr().String()+"/#setup=") {
			t.Errorf("the link is %q", link)
		}
		response, err := http.Get(link)
		if err != nil {
			cancel()
			t.Fatalf("%v; the server ended with: %v", err, <-ended)
		}
		response.Body.Close()
		end(s, cancel)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cancel()
	}
	if _, err := os.Stat(server.Database(o.Dir)); err != nil {
		t.Error(err)
	}
}

// The error of a part names it, so that a command line can name the flag.
func TestErrorNamesItsPart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		wrong func(*server.Options)
		part  server.Part
	}{
		{"folder", func(o *server.Options) { o.Dir = file }, server.PartFolder},
		{"database", func(o *server.Options) { o.Database = "postgres://127.0.0.1:1/none?connect_timeout=1" }, server.PartDatabase},
		{"agents", func(o *server.Options) { o.AgentAddr = taken.Addr().String() }, server.PartAgentListener},
		{"cache", func(o *server.Options) { o.Cache = filepath.Join(file, "cache") }, server.PartCache},
		{"password", func(o *server.Options) { o.Password = "x" }, server.PartPassword},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			tt.wrong(&o)
			_, err := server.New(t.Context(), o)
			var e *server.Error
			if !errors.As(err, &e) || e.Part != tt.part {
				t.Errorf("%v", err)
			}
		})
	}
}
