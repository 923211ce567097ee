package binary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var filled struct {
	once sync.Once
	dir  string
	err  error
}

// CompilerCache returns the path of the directory in which masters of all tests cache what
// they compile (serve --cache). It stays after the tests, as the go command's own cache
// does. make test fills it before the tests; else the first call does, which may take a
// minute, and fails the test if it can't. It may be called concurrently.
func CompilerCache(tb testing.TB) string {
	tb.Helper()
	filled.once.Do(func() {
		given := os.Getenv(env) != ""
		gobench := Gobench(tb)
		if filled.dir, filled.err = compilerCache(); filled.err == nil && !given {
			filled.err = FillCompilerCache(gobench)
		}
	})
	if filled.err != nil {
		tb.Fatal(filled.err)
	}
	return filled.dir
}

// compilerCache returns the directory of CompilerCache. A master that is run by root compiles
// as a user who can't see root's home.
func compilerCache() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/gobench-trial", nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "gobench-trial"), err
}

// FillCompilerCache compiles what all scenarios share, by a run on a master of this gobench,
// into the directory of CompilerCache. Masters of tests that found it empty would do that side
// by side, longer than they may compile. The error has what the commands printed.
func FillCompilerCache(gobench string) error {
	cache, err := compilerCache()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fill")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	scenario := filepath.Join(dir, "fill.go")
	if err := os.WriteFile(scenario, []byte(shared), 0o600); err != nil {
		return err
	}
	env := append(os.Environ(), NoWarm, "HOME="+dir, "GOBENCH_ADMIN_PASSWORD=correct horse battery", "GOBENCH_PASSWORD=correct horse battery")
	master := exec.Command(gobench, "serve", "--addr", "127.0.0.1:0", "--agent-addr", "127.0.0.1:0", "--cache", cache, "--compile-limit", "20m")
	master.Env = env
	log, err := master.StderrPipe()
	if err == nil {
		err = master.Start()
	}
	if err != nil {
		return err
	}
	url := ""
	for lines := bufio.NewScanner(log); url == "" && lines.Scan(); {
		url, _ = ReadyLine(lines.Bytes())
	}
	var printed bytes.Buffer
	read := make(chan struct{})
	go func() { _, _ = io.Copy(&printed, log); close(read) }()
	for _, args := range [][]string{{"login", url, "--name", "admin"}, {"run", scenario, "--master", url, "-q"}} {
		cmd := exec.Command(gobench, args...)
		cmd.Env = env
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("fill the compiler's cache: gobench %s: %w\n%s", args[0], err, out)
			break
		}
	}
	_ = master.Process.Signal(os.Interrupt)
	<-read
	_ = master.Wait()
	if err != nil {
		err = fmt.Errorf("%w\nthe master's log: %s", err, &printed)
	}
	return err
}

// shared is a scenario of one user who does nothing, which imports what others do.
const shared = `package main

import (
	"context"

	_ "github.com/gobench-io/gobench/clients/http"
	_ "github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return scenario.Vus{{Nu: 1, Fu: func(context.Context, int) {}}} }
`

// ReadyLine returns the URL of a master's API and its address for agents from the line that
// it logs when it is ready; "" for other lines.
func ReadyLine(line []byte) (api, agents string) {
	var l struct{ Msg, API, Agents string }
	if json.Unmarshal(line, &l) != nil || l.Msg != "gobench is ready" {
		return "", ""
	}
	return strings.TrimSuffix(l.API, "/"), l.Agents
}
