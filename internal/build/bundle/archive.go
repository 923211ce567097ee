package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// pack returns an archive, tar in gzip, of files by name: sorted, without times and owners,
// all with the same mode.
func pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unpack returns the contents by name of an archive that pack wrote, which it reads to its
// end.
func unpack(r io.Reader) (map[string][]byte, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[h.Name], err = io.ReadAll(tr); err != nil {
			return nil, err
		}
	}
}

// compare describes how want differs from have by its first file that is new or changed, or
// else gone, and the number of others, as "changed NAME and 2 more"; "" if they are equal.
func compare(have, want map[string][]byte) string {
	n, first := 0, ""
	note := func(what, name string) {
		if n++; first == "" {
			first = what + " " + name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		old, ok := have[name]
		switch {
		case !ok:
			note("new", name)
		case !bytes.Equal(old, want[name]):
			note("changed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok {
			note("gone", name)
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return first
	}
	return fmt.Sprintf("%s and %d more", first, n-1)
}
