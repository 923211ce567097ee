package build

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// unpacked is the modification time of every file of an unpacked SDK, so that a file
// changed since then is found without reading it.
var unpacked = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

const sdkPrefix = "sdk-"

// sdkPlace returns the directory in which the SDK is unpacked: gobench/ and third_party/
// below it.
func (b *Builder) sdkPlace(sdk *sdkFiles) string { return filepath.Join(b.sdks, sdkPrefix+sdk.id) }

// prepareSDK unpacks the SDK to sdkPlace unless it is unpacked already and undamaged. It
// waits while another process does so; if ctx ends then, it returns ctx's cause. If it
// unpacks, it calls progress first, and removes SDKs that have not been used for long.
func (b *Builder) prepareSDK(ctx context.Context, sdk *sdkFiles, progress func(string)) error {
	dir := b.sdkPlace(sdk)
	if whole(dir) == nil {
		return touch(dir)
	}
	unlock, err := b.lock(ctx, "sdk")
	if err != nil {
		return err
	}
	defer unlock()
	damage := whole(dir)
	if damage == nil { // another process was faster
		return nil
	}
	if _, err := os.Lstat(dir); err == nil {
		b.log.Warn("unpacked SDK is damaged: unpacking it again", "dir", dir, "damage", damage)
	}
	progress("unpack the SDK")
	if err := b.unpack(sdk, dir); err != nil {
		return fmt.Errorf("unpack the SDK to %s: %w", dir, err)
	}
	b.dropOldSDKs(dir)
	return nil
}

// unpack writes the SDK to a temporary directory and renames it to dir, where it replaces
// another, so that dir is never incomplete. After an error dir is as before or missing.
func (b *Builder) unpack(sdk *sdkFiles, dir string) error {
	tmp, err := b.temp("sdk-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	var list strings.Builder
	write := func(name string, data []byte) error {
		fmt.Fprintf(&list, "%d %s\n", len(data), name)
		return writeSource(filepath.Join(tmp, filepath.FromSlash(name)), data)
	}
	for _, name := range sdk.names {
		if err := write("gobench/"+name, sdk.sources[name]); err != nil {
			return err
		}
	}
	err = eachDep(sdk.deps, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return write(name, data)
	})
	if err != nil {
		return err
	}
	if err := writeSource(filepath.Join(tmp, manifest), []byte(list.String())); err != nil {
		return err
	}
	if err := b.discard(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// manifest lists the files of an unpacked SDK, one "SIZE NAME" per line.
const manifest = "manifest"

// whole returns nil if the SDK in dir is complete, else an error that names the damage: a
// file missing, added, or changed since it was written. It wraps fs.ErrNotExist if the SDK
// is not unpacked.
func whole(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, manifest))
	if err != nil {
		return err
	}
	want := map[string]int64{}
	for line := range strings.Lines(string(list)) {
		size, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
		want[name] = n
	}
	seen := 0
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, dir+string(filepath.Separator)))
		size, ok := want[name]
		switch {
		case name == manifest:
			size = int64(len(list))
		case !ok:
			return fmt.Errorf("%s does not belong there", name)
		default:
			seen++
		}
		if !d.Type().IsRegular() || info.Size() != size || !info.ModTime().Equal(unpacked) {
			return fmt.Errorf("%s was changed", name)
		}
		return nil
	})
	if err == nil && seen != len(want) {
		err = fmt.Errorf("%d of %d files are missing", len(want)-seen, len(want))
	}
	return err
}

// writeSource writes a file of the SDK, which must not exist: read-only, with the time that
// whole expects. It creates the file's folder if needed.
func writeSource(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name, data, 0o444); err != nil {
		return err
	}
	return os.Chtimes(name, unpacked, unpacked)
}

// dropOldSDKs removes the SDKs of other gobench versions than that in keep that no build has
// used for a month. Errors are logged or ignored.
func (b *Builder) dropOldSDKs(keep string) {
	entries, err := os.ReadDir(b.sdks)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(b.sdks, e.Name())
		info, err := e.Info()
		if err != nil || dir == keep || !strings.HasPrefix(e.Name(), sdkPrefix) || time.Since(info.ModTime()) < 30*24*time.Hour {
			continue
		}
		if err := b.discard(dir); err != nil {
			b.log.Warn("remove old SDK", "dir", dir, "err", err)
		}
	}
}
