package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/gobench-io/gobench/internal/testing/servers"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// conf returns a user in a server's static configuration.
func conf(key string, m May) string {
	list := func(subjects []string) string {
		return "\n          \"" + strings.Join(subjects, "\",\n          \"") + "\"\n        ] }"
	}
	return fmt.Sprintf("      { nkey: %s, permissions: {\n        publish: { allow: [%s,\n        subscribe: { allow: [%s } }\n", key, list(m.Publish), list(m.Subscribe))
}

// nsc returns the commands of nsc that create a user.
func nsc(name string, m May) string {
	return fmt.Sprintf("nsc add user --account gobench --name %s \\\n  --allow-pub '%s' \\\n  --allow-sub '%s'\n", name, strings.Join(m.Publish, ","), strings.Join(m.Subscribe, ","))
}

// TestPermissionsOfThePage: docs/nats.md lists the subjects that the bus uses.
func TestPermissionsOfThePage(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "nats.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		conf("MASTER", MasterMay()), conf("AGENTS", AgentsMay("*")), nsc("master", MasterMay()), nsc("agents", AgentsMay("*")),
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("docs/nats.md lacks this, or has something else:\n%s", want)
		}
	}
	for subject, with := range map[string]string{"_INBOX.*.>": "_INBOX.AGENT.>", "gb.c.*.cmd": "gb.c.AGENT.cmd"} {
		all, own := AgentsMay("*").Subscribe, AgentsMay("AGENT").Subscribe
		for i := range all {
			if all[i] == subject && own[i] != with {
				t.Errorf("%s of all agents is %s of one, want %s", all[i], own[i], with)
			}
		}
	}
}

// natsUser creates a key, and a file with its seed.
func natsUser(t *testing.T) (key, file string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, _ = pair.PublicKey() // it has one
	seed, _ := pair.Seed()
	file = filepath.Join(t.TempDir(), "user.nk")
	if err := os.WriteFile(file, append(seed, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return key, file
}

// complaints are log lines about permissions.
type complaints struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

func (c *complaints) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.all = append(c.all, err.Error())
		}
		return true
	})
	return c.Handler.Handle(ctx, r)
}

// TestPermissionsAreEnough: with the users of docs/nats.md, on a real server with TLS and
// its own authority, the whole bus works and nothing is refused. An agent whose user has
// its own subjects can't send as another agent.
func TestPermissionsAreEnough(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	secured := servers.NATSTLS(t, ca)
	masterKey, masterFile := natsUser(t)
	agentsKey, agentsFile := natsUser(t)
	ownKey, ownFile := natsUser(t)
	s := servers.NATSCluster(t, 1, secured+"accounts { GOBENCH { jetstream: { max_mem: 64MB, max_file: 4GB, max_streams: 2, max_consumers: 10 }, users: [\n"+
		conf(masterKey, MasterMay())+conf(agentsKey, AgentsMay("*"))+conf(ownKey, AgentsMay("a1"))+"] } }\n")[0]
	url := strings.Replace(s.URL, "nats://", "tls://", 1)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, ca.Root(), 0o600); err != nil {
		t.Fatal(err)
	}
	der, err := ReadAuthorities(authority)
	if err != nil {
		t.Fatal(err)
	}
	heard := &complaints{Handler: testLog(t).Handler()}
	log := slog.New(heard)
	seed, err := NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	with := MasterOptions{URL: url, Creds: masterFile, CA: der, Seed: seed, Log: log, Times: testTimes}
	m, err := Master(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	tok := NewToken([]string{url}, [32]byte{})
	tok.CA = der
	goes(t, func(ctx context.Context) error {
		return m.Join(ctx, func(j *agentpb.Join) *agentpb.Joined { return &agentpb.Joined{Agent: "a1", Cluster: "c"} })
	})
	dir := t.TempDir()
	eventually(t, 30*time.Second, "joined", func() bool {
		_, err = Join(t.Context(), tok.String(), JoinOptions{Dir: dir, Creds: agentsFile, Log: log})
		return err == nil
	})
	got := make(chan string, 10)
	goes(t, func(ctx context.Context) error {
		return m.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error {
			r.Done()
			offer(got, d.Agent)
			return nil
		})
	})
	beats := make(chan string, 10)
	goes(t, func(ctx context.Context) error {
		return m.Watch(ctx, func(b *agentpb.Beat) { offer(beats, b.Agent) }, func(string) {})
	})
	data, profile := blob(1000)
	open := opens(data, profile)
	goes(t, func(ctx context.Context) error { return m.Serve(ctx, open) })

	for _, creds := range []string{agentsFile, ownFile} {
		i, err := ReadIdentity(dir)
		if err != nil {
			t.Fatal(err)
		}
		i.Creds = creds
		a, err := Dial(i, AgentOptions{Log: log, Times: testTimes})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		life, end := context.WithCancel(ctx)
		var wg sync.WaitGroup
		committed := make(chan string, 1)
		for _, part := range []func() error{
			func() error {
				return a.Commands(life, func(context.Context, *agentpb.Command) *agentpb.Answer { return &agentpb.Answer{} })
			},
			func() error { return a.Committed(life, func(c *agentpb.Committed) { offer(committed, c.Run) }) },
			func() error { return a.Serve(life, open) },
		} {
			wg.Go(func() {
				if err := part(); err != nil {
					t.Error(err)
				}
			})
		}
		if err := a.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		eventually(t, 30*time.Second, "answering", func() bool {
			_, err := m.Command(ctx, &agentpb.Command{Agent: "a1", What: &agentpb.Command_Ping{Ping: &agentpb.Ping{}}})
			return err == nil
		})
		eventually(t, 30*time.Second, "committed", func() bool { // the agent may not listen yet
			if err := m.Committed(ctx, "a1", &agentpb.Committed{Run: "r"}); err != nil {
				t.Fatal(err)
			}
			return len(committed) > 0
		})
		if run := receive(t, committed); run != "r" {
			t.Errorf("committed %q", run)
		}
		if err := a.Beat(ctx, &agentpb.Beat{Agent: "a1"}); err != nil || receive(t, beats) != "a1" {
			t.Errorf("Beat: %v", err)
		}
		if err := a.Deliver(ctx, &agentpb.Delivery{Agent: "a1", Run: "r", Number: 1}); err != nil || receive(t, got) != "a1" {
			t.Errorf("Deliver: %v", err)
		}
		var in, out bytes.Buffer
		if err := a.Fetch(ctx, profile, 0, &in); err != nil || !bytes.Equal(in.Bytes(), data) {
			t.Errorf("the agent fetched %d bytes, %v", in.Len(), err)
		}
		if err := m.Fetch(ctx, "a1", profile, &out); err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Errorf("the master fetched %d bytes, %v", out.Len(), err)
		}
		heard.mu.Lock()
		if len(heard.all) > 0 {
			t.Errorf("refused: %q", heard.all)
		}
		heard.mu.Unlock()

		// As another agent: the user of all agents may, an agent's own may not.
		limit := time.Minute
		if creds == ownFile { // it is refused again and again
			limit = 500 * time.Millisecond
		}
		short, stop := context.WithTimeout(ctx, limit)
		a.id = "a2"
		err = a.Deliver(short, &agentpb.Delivery{Agent: "a2", Run: "r", Number: 1})
		stop()
		switch {
		case creds == agentsFile && (err != nil || receive(t, got) != "a2"):
			t.Errorf("as another agent: %v; docs/nats.md says that this can't be known", err)
		case creds == ownFile && err == nil:
			t.Error("an agent with subjects of its own has spoken as another")
		}
		end()
		wg.Wait()
		a.Close()
		cancel()
	}

	// Errors name what is wrong.
	other := servers.NewCA(t)
	if err := os.WriteFile(authority, other.Root(), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong, err := ReadAuthorities(authority)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger := natsUser(t)
	for name, tt := range map[string]struct {
		change func(*MasterOptions)
		want   error
	}{
		"another authority":     {func(o *MasterOptions) { o.CA = wrong }, ErrAuthority},
		"no authority":          {func(o *MasterOptions) { o.CA = nil }, ErrAuthority},
		"a user nobody knows":   {func(o *MasterOptions) { o.Creds = stranger }, ErrCredentials},
		"an agent's user":       {func(o *MasterOptions) { o.Creds = agentsFile }, ErrPermission},
		"more than the account": {func(o *MasterOptions) { o.space = 1 << 40 }, ErrJetStream},
	} {
		o := with
		o.Log, o.Times.Store = nil, time.Second
		tt.change(&o)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // much less than Master would try
		if _, err := Master(ctx, o); !errors.Is(err, tt.want) || ctx.Err() != nil {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		cancel()
	}
	tok.CA = wrong
	if _, err := Join(t.Context(), tok.String(), JoinOptions{Dir: t.TempDir(), Creds: agentsFile}); !errors.Is(err, ErrAuthority) {
		t.Errorf("joined with another authority: %v", err)
	}
	plain := servers.NATSCluster(t, 1, "")[0]
	if _, err := Master(t.Context(), MasterOptions{URL: plain.URL, CA: der, Seed: seed}); !errors.Is(err, ErrNoTLS) {
		t.Errorf("with an authority and a server without TLS: %v", err)
	}
	small := servers.NATSCluster(t, 1, "max_payload: 4096\n")[0]
	if _, err := Master(t.Context(), MasterOptions{URL: small.URL, Seed: seed}); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("with a small max_payload: %v", err)
	}
	none := servers.NATSCluster(t, 1, "accounts { A { users: [ { user: a, password: b } ] } }\nno_auth_user: a\n")[0]
	if _, err := Master(t.Context(), MasterOptions{URL: none.URL, Seed: seed}); !errors.Is(err, ErrJetStream) {
		t.Errorf("without JetStream: %v", err)
	}
}

// TestServers parses values of --nats.
func TestServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tls://a.example, nats://b.example:4223": "tls://a.example:4222,nats://b.example:4223",
		"nats://[::1]":                           "nats://[::1]:4222",
		"wss://a.example":                        "wss://a.example",
		"a.example:4222":                         "",
		"http://a.example":                       "",
		"tls://":                                 "",
		"":                                       "",
		"nats://ada:secret@a.example":            "",
		"nats://a.example,":                      "",
	} {
		got, err := Servers(text)
		if strings.Join(got, ",") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error has the password: %v", text, err)
		}
	}
}

// TestFilesOfCredentials: invalid files of credentials and of authorities are refused
// before a connection is made.
func TestFilesOfCredentials(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, seed := natsUser(t)
	_, creds := servers.NATSCredentials(t)
	for _, path := range []string{seed, creds} {
		if err := CheckCredentials(path); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{write(""), write("user: ada"), filepath.Join(t.TempDir(), "nowhere")} {
		if err := CheckCredentials(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	root := string(servers.NewCA(t).Root())
	for _, path := range []string{write(""), write("no PEM"), write(strings.Repeat(root, 100)), write(strings.Replace(root, "\nM", "\nA", 1))} {
		if der, err := ReadAuthorities(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %d bytes, %v", path, len(der), err)
		}
	}
}
