package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A goTool is a peer that the Go module proxy has.
type goTool struct{ pkg, version string }

// Peers are pinned: a table taken next year meets the same ones.
var hey = goTool{"github.com/rakyll/hey", "v0.1.5"}

// goInstall returns the tool's binary, built into the cache on first use.
func (b *bench) goInstall(ctx context.Context, t goTool) (string, error) {
	dir := filepath.Join(b.cache, filepath.Base(t.pkg)+"@"+t.version)
	bin := filepath.Join(dir, filepath.Base(t.pkg))
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	b.logf("go install %s@%s", t.pkg, t.version)
	_, err := output(ctx, "", []string{"GOBIN=" + dir}, "go", "install", t.pkg+"@"+t.version)
	return bin, err
}

// gobench builds this tree and returns the binary and its version.
func (b *bench) gobench(ctx context.Context) (bin, version string, err error) {
	bin = filepath.Join(b.cache, "gobench")
	b.logf("go build -o %s .", bin)
	if _, err := output(ctx, b.root, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", bin, "."); err != nil {
		return "", "", err
	}
	version = "gobench, this tree"
	if commit, err := output(ctx, b.root, nil, "git", "describe", "--always", "--dirty", "--tags"); err == nil {
		version = "gobench " + strings.TrimSpace(string(commit)) // without git or a repository, the tree has no name
	}
	return bin, version, nil
}

// debian makes sure of commands that Debian packages bring, each as
// COMMAND:PACKAGE. The script asks a person at a terminal first.
func (b *bench) debian(ctx context.Context, pairs ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "scripts", "debian.sh"), pairs...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(pairs, " "), err)
	}
	return nil
}

// debianVersion is the version of an installed package.
func debianVersion(ctx context.Context, pkg string) string {
	out, err := output(ctx, "", nil, "dpkg-query", "-W", "-f", "${Version}", pkg)
	if err != nil {
		return "of an unknown version"
	}
	return string(out) + " (Debian)"
}

// output runs a command that is not measured and returns what it prints; the
// error is a *failure.
func output(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, &failure{args, err, stdout.Bytes(), stderr.Bytes()}
	}
	return stdout.Bytes(), nil
}
