package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// output is a report that is to be written to standard output or to a file. A regular file
// is written under a temporary name beside it, and renamed when it is complete.
type output struct {
	name   string // as given with -o
	format Format
	w      io.Writer // standard output; else nil
	file   *os.File
	place  string // path of a regular file; else empty
}

// Outputs are the reports that a command writes. They are opened before a run begins, so that
// a wrong name does not cost a run. The caller must Write or Discard them.
type Outputs []*output

// OpenOutputs opens the outputs of these names, each a file or "-" or "-.ENDING" for
// stdout. A wrong name, one file twice and standard output twice are usage errors: all are
// discarded then. Existing files are unchanged until Write.
func OpenOutputs(names []string, stdout io.Writer) (all Outputs, err error) {
	for _, name := range names {
		o, err := openOutput(name, stdout)
		if err == nil && all.has(o) {
			err = errors.Join(run.Usage("", "-o %s is there twice", name), o.discard())
		}
		if err != nil {
			all.Discard()
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// has reports whether one of all is the same file as o, or also standard output. Files
// that are not regular, as pipes, are not compared.
func (all Outputs) has(o *output) bool {
	for _, other := range all {
		if o.w != nil && other.w != nil || o.place != "" && other.place == o.place {
			return true
		}
	}
	return false
}

// openOutput opens the output of a name, and checks that it can be written; see Outputs. The
// caller must write or discard it. An error is a usage error.
func openOutput(name string, stdout io.Writer) (*output, error) {
	o := &output{name: name}
	if name == "-" {
		o.format, o.w = Formats[0], stdout
		return o, nil
	}
	var known bool
	if o.format, known = FormatOf(name); !known {
		return nil, run.Usage("name it FILE"+Endings(), "-o %s: no report has the ending %q", name, filepath.Ext(name))
	}
	if strings.HasPrefix(name, "-.") {
		o.w = stdout
		return o, nil
	}
	err := o.open(0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, run.Usage("make the folder first", "-o %s: the folder does not exist", name)
	}
	if err != nil {
		return nil, run.Usage("", "-o %v", err)
	}
	return o, nil
}

// open sets o.file to the file to write: a temporary one beside o.place, with the
// permissions of an existing file, else mode (before umask), or the named one if that is not
// a regular file, as a pipe; o.place is then empty. Opening a pipe waits for its reader. The error wraps
// fs.ErrNotExist if the folder is missing.
func (o *output) open(mode fs.FileMode) error {
	var err error
	if o.place, err = placeOf(o.name); err != nil {
		return err
	}
	file, err := os.OpenFile(o.place, os.O_WRONLY, 0)
	switch {
	case err == nil:
		info, err := file.Stat()
		if err != nil {
			return errors.Join(err, file.Close())
		}
		if !info.Mode().IsRegular() {
			o.file, o.place = file, ""
			return nil
		}
		mode = info.Mode().Perm()
		if err := file.Close(); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	o.file, err = os.OpenFile(fmt.Sprintf("%s.%d.part", o.place, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	return err
}

// placeOf returns the absolute path of a file without symbolic links, so that two names of
// one file can be compared. The file need not exist, but its folder must.
func placeOf(name string) (string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(full)
	if err == nil {
		return real, nil
	}
	if link, failed := os.Readlink(full); failed == nil && errors.Is(err, fs.ErrNotExist) {
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(full), link)
		}
		return placeOf(link)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(full))
	return filepath.Join(dir, filepath.Base(full)), err
}

// WriteFile writes the file name as an -o does: a regular file is replaced when write has
// returned nil, and is as before otherwise; a new one has mode 0600, for its user only. A
// symbolic link is followed; what is not a regular file, as a pipe, is written directly.
func WriteFile(name string, write func(io.Writer) error) error {
	o := &output{name: name}
	if err := o.open(0o600); err != nil {
		return err
	}
	err := write(o.file)
	if o.place != "" {
		err = errors.Join(err, o.file.Sync())
	}
	return o.finish(err)
}

// Write writes all of them and closes the files, and returns all errors, joined. If one fails,
// the others are written anyway. Call it once, and not after Discard.
func (all Outputs) Write(r *run.Result, each Intervals) error {
	var errs []error
	for _, o := range all {
		if err := o.write(r, each); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", o.name, err))
		}
	}
	return errors.Join(errs...)
}

// write writes the report and closes the file. If it fails, a regular file is as before and
// the temporary one is removed; a pipe or standard output may have a part. Call it once, and
// not after discard.
func (o *output) write(r *run.Result, each Intervals) error {
	if o.w != nil {
		return o.format.Write(o.w, r, each)
	}
	return o.finish(o.format.Write(o.file, r, each))
}

// finish closes the file, which was written with the error err, and renames a temporary one
// to o.place, or removes it after an error.
func (o *output) finish(err error) error {
	part := o.file.Name()
	err = errors.Join(err, o.file.Close())
	o.file = nil
	if o.place == "" {
		return err
	}
	if err == nil {
		err = os.Rename(part, o.place)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(part))
	}
	return err
}

// Discard closes those that are not written, and deletes their temporary files. It may be
// called after Write, and more than once.
func (all Outputs) Discard() {
	for _, o := range all {
		_ = o.discard() // nothing was written to it
	}
}

// discard closes the file, and deletes it if it is a temporary one. It does nothing for
// standard output, and after write.
func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	if o.place != "" {
		err = errors.Join(err, os.Remove(o.file.Name()))
	}
	o.file = nil
	return err
}
