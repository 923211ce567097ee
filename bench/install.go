package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Peers are pinned, so that a table taken next year compares the same programs.

// fromGo returns an installer that builds the program pkg of the Go module proxy into the
// cache, unless this version is there already. Its error is a *failure.
func fromGo(pkg, version string) func(context.Context, *bench) (installed, error) {
	return func(ctx context.Context, b *bench) (installed, error) {
		name := filepath.Base(pkg)
		dir := filepath.Join(b.cache, name+"@"+version)
		in := installed{version: name + " " + version, command: []string{filepath.Join(dir, name)}}
		if _, err := os.Stat(in.command[0]); err == nil {
			return in, nil
		}
		b.logf("go install %s@%s", pkg, version)
		_, err := output(ctx, "", []string{"GOBIN=" + dir}, "go", "install", pkg+"@"+version)
		return in, err
	}
}

// fromDebian returns an installer of a command with its Debian package, unless the command
// exists. The version is that of the installed package, or "of an unknown version". Its error
// is that of debian.
func fromDebian(command, pkg string) func(context.Context, *bench) (installed, error) {
	return func(ctx context.Context, b *bench) (installed, error) {
		in := installed{version: command + " of an unknown version", command: []string{command}}
		if err := b.debian(ctx, command+":"+pkg); err != nil {
			return in, err
		}
		in.version = command + " " + debianVersion(ctx, pkg)
		return in, nil
	}
}

// fromCargo returns an installer that builds a program of crates.io into the cache, unless
// this version is there already; that takes minutes, at most twice 15. A failed attempt leaves
// what it has compiled for the next one; the error is that of the last one.
func fromCargo(crate, version string) func(context.Context, *bench) (installed, error) {
	return func(ctx context.Context, b *bench) (installed, error) {
		dir := filepath.Join(b.cache, crate+"@"+version)
		in := installed{version: crate + " " + version, command: []string{filepath.Join(dir, "bin", crate)}}
		if _, err := os.Stat(in.command[0]); err == nil {
			return in, nil
		}
		built := filepath.Join(b.cache, crate+"-build")
		b.logf("cargo install %s %s: takes minutes, once", crate, version)
		var err error
		for range 2 { // a registry may be stuck
			if err = b.watched(ctx, 15*time.Minute, "cargo", "install", crate, "--version", version, "--locked", "--root", dir, "--target-dir", built); err == nil {
				return in, os.RemoveAll(built)
			}
			if ctx.Err() != nil {
				break
			}
		}
		return in, err
	}
}

// debian checks commands from Debian packages, each as COMMAND:PACKAGE, and installs missing
// packages. The script asks a user at a terminal first, on our standard streams, and is killed
// when ctx ends. The error has the end of the script's standard error.
func (b *bench) debian(ctx context.Context, pairs ...string) error {
	said := &ending{}
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "scripts", "debian.sh"), pairs...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, io.MultiWriter(os.Stderr, said)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("install %s: %w: %s", strings.Join(pairs, " "), err, said.text)
	}
	return nil
}

// debianVersion returns the version of an installed package, as "1.2-3 (Debian)"; "of an
// unknown version" if dpkg does not have it or ctx has ended.
func debianVersion(ctx context.Context, pkg string) string {
	out, err := output(ctx, "", nil, "dpkg-query", "-W", "-f", "${Version}", pkg)
	if err != nil {
		return "of an unknown version"
	}
	return string(out) + " (Debian)"
}

// output runs a command without measuring it, in dir (empty: ours) and with env in
// addition to ours, and returns what it prints on standard output. It ends the command
// after 15 minutes or when ctx ends. The error is a *failure.
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

// watched runs a long installation, without our standard input, and copies its output to
// b.log. It ends the command after limit or when ctx ends. The error is a *failure with
// the last 2,000 bytes.
func (b *bench) watched(ctx context.Context, limit time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said := &ending{}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout = io.MultiWriter(b.log, said)
	cmd.Stderr = cmd.Stdout // one writer: one goroutine writes
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return &failure{args: args, why: err, stderr: said.text}
	}
	return nil
}

// An ending is a writer that stores the last 2,000 bytes written to it, and never fails.
// It is not safe for concurrent use.
type ending struct{ text []byte }

func (e *ending) Write(p []byte) (int, error) {
	e.text = append(e.text, p...)
	e.text = e.text[max(0, len(e.text)-2000):]
	return len(p), nil
}
