//go:build unix

package docs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/repo"
)

// Every command line of a sh block runs, and its load gets answers. Of a console block only
// the lines behind a prompt are run.
func TestCommandLines(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/503" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "a page")
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(secure.Close)
	host := func(s *httptest.Server) string {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	local := strings.NewReplacer("http://localhost:8080", plain.URL, "http://localhost:9090", plain.URL, "https://localhost:8443", "https://"+host(secure))
	cache, stored := t.TempDir(), t.TempDir()
	t.Cleanup(func() { binary.MakeWritable(cache) })
	env := append(os.Environ(), binary.Path(t), binary.NoWarm, "XDG_CACHE_HOME="+cache, "XDG_DATA_HOME=", "GOPROXY=off", "GOCACHE="+repo.GoEnv(t, "GOCACHE"))
	shell := func(dir, command string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, slices.Concat(env, []string{"HOME=" + dir}), time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Cancel kills all of the group
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// Commands that read a run find one with this id, of which some requests failed.
	// Commands that run a scenario find that of gobench init.
	const id = "20261121-064512-x7k2qa"
	out, err := shell(stored, local.Replace("gobench http -q -n 5 http://localhost:8080/ && gobench export last -o before.tar.zst && rm -r .gobench/runs/* && printf 'GET http://localhost:8080/\\nGET http://localhost:8080/503\\n' | gobench http -q -n 20 -c 2 --targets - -o result.json && gobench init shop && mv .gobench/runs/* .gobench/runs/"+id+
		" && sed -i 's/\"id\": .*/\"id\": \""+id+"\",/' .gobench/runs/"+id+"/result.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ran := 0
	for _, page := range pages(t) {
		for _, s := range Blocks(t, page) {
			commands := commandsOf(t, s)
			ran += len(commands)
			if len(commands) == 0 {
				continue
			}
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				t.Cleanup(func() { binary.MakeWritable(dir) })
				if out, err := shell(dir, "cp -r "+stored+"/.gobench . && cp "+stored+"/before.tar.zst "+stored+"/result.json . && cp result.json before.json && mkdir -p scenarios/checkout && cp "+stored+"/shop/scenario.go . && cp scenario.go scenarios/checkout/ && "+
					"printf 'name,password\\nann,x\\nben,y\\n' >users.csv && echo '{}' >item.json"); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, command := range commands {
					out, err := shell(dir, local.Replace(shorten(command)))
					var exit *exec.ExitError
					if errors.As(err, &exit) && exit.ExitCode() == 4 && !strings.Contains(out, " is called ") {
						err = nil // a threshold was crossed, as on a busy machine
					}
					if err != nil || strings.Contains(out, "nothing was answered") {
						t.Errorf("%s: %s (as %s): %v\n%s", s, command, shorten(command), err, out)
					}
				}
			})
		}
	}
	if ran < 30 {
		t.Errorf("only %d command lines were found", ran)
	}
}

// commandsOf returns the command lines of a block that are to be run. A block whose kind does not
// mark it as one of commands fails the test.
func commandsOf(t *testing.T, s Block) (commands []string) {
	lines := strings.Split(strings.ReplaceAll(s.Text, "\\\n", ""), "\n")
	for _, line := range lines {
		if strings.Contains(line, " --master ") { // testdata/script has masters
			continue
		}
		switch command, prompted := strings.CutPrefix(line, "$ "); {
		case s.Kind == "console" && prompted:
			commands = append(commands, command)
		case s.Kind == "sh" && line != "" && !strings.HasPrefix(line, "#"):
			commands = append(commands, line)
		case s.Kind == "" && strings.HasPrefix(line, "gobench "):
			t.Errorf("%s: a block with commands begins with ```sh", s)
			return nil
		}
	}
	if s.NotRun != "" {
		return nil
	}
	return commands
}

var (
	loads = regexp.MustCompile(`gobench (http|run) `)
	times = regexp.MustCompile(`(-d|--duration|--warmup) \S+`)
	stage = regexp.MustCompile(`(--stage \d+)/\S+`)
)

// shorten returns a command line whose load takes a tenth of a second.
func shorten(command string) string {
	command = stage.ReplaceAllString(times.ReplaceAllString(command, "$1 100ms"), "$1/50ms")
	if !strings.Contains(command, "-d 100ms") && !strings.Contains(command, "--duration 100ms") && !strings.Contains(command, "--stage") && !strings.Contains(command, " -n ") && !strings.Contains(command, "--help") && !strings.Contains(command, "--once") {
		command = loads.ReplaceAllString(command, "gobench $1 -d 100ms ")
	}
	if strings.Contains(command, "gobench run ") && !strings.Contains(command, "--help") {
		command = strings.Replace(command, "gobench run ", "gobench run --set url=http://localhost:8080/ ", 1)
		command = strings.Replace(command, "--set url=http://localhost:9090", "", 1)
		command = strings.NewReplacer("-d 100ms", "-d 1s", "--duration 100ms", "--duration 1s").Replace(command) // its users come one by one
	}
	return command
}
