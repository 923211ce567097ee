package http

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// acceptEncoding is the Accept-Encoding of a client with Options.Decode.
const acceptEncoding = "gzip, deflate, br, zstd"

// maxCodings limits how many times a body may be encoded.
const maxCodings = 4

// decode returns a body as it was before codings, a Content-Encoding, were applied. Decoding
// stops at an unknown coding and returns the data still encoded with it; the result may be
// data itself. The error is errTooLarge if a step results in more than max bytes, and of the
// class Protocol for malformed data and for more than 4 codings.
func decode(data []byte, codings string, max int64) ([]byte, error) {
	list := strings.Split(codings, ",")
	if len(list) > maxCodings {
		return nil, malformed(fmt.Sprintf("more than %d content codings", maxCodings))
	}
	slices.Reverse(list) // the last one was applied last
	for _, name := range list {
		name = strings.ToLower(strings.Trim(name, " \t"))
		if name == "identity" || name == "" {
			continue
		}
		d := decoders[name]
		if d == nil {
			return data, nil
		}
		var err error
		if data, err = d(data, max); err != nil {
			if errors.Is(err, errTooLarge) {
				return nil, err
			}
			return nil, malformed(fmt.Sprintf("content coding %s: %v", name, conn.Text(err)))
		}
	}
	return data, nil
}

var decoders = map[string]func(data []byte, max int64) ([]byte, error){
	"gzip":    gunzip,
	"x-gzip":  gunzip,
	"deflate": inflate,
	"br":      unbrotli,
	"zstd":    unzstd,
}

var gzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzip decodes gzip. The error is errTooLarge for more than max bytes, or that of the
// decoder.
func gunzip(data []byte, max int64) ([]byte, error) {
	r := gzips.Get().(*gzip.Reader)
	defer gzips.Put(r)
	if err := r.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return readUpTo(r, len(data), max)
}

// inflate decodes deflate, both as it is defined, with zlib's header and checksum, and without
// them, as some servers send it. The errors are as for gunzip.
func inflate(data []byte, max int64) ([]byte, error) {
	var r io.ReadCloser
	var err error
	if len(data) >= 2 && data[0]&15 == 8 && (int(data[0])<<8|int(data[1]))%31 == 0 {
		r, err = zlib.NewReader(bytes.NewReader(data))
	} else {
		r = flate.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil, err
	}
	return readUpTo(r, len(data), max)
}

var brotlis = sync.Pool{New: func() any { return brotli.NewReader(nil) }}

// unbrotli decodes brotli. The errors are as for gunzip.
func unbrotli(data []byte, max int64) ([]byte, error) {
	r := brotlis.Get().(*brotli.Reader)
	defer brotlis.Put(r)
	in := bytes.NewReader(data)
	if err := r.Reset(in); err != nil {
		return nil, err
	}
	return readUpTo(r, len(data), max)
}

// zstdWindow is the largest window that a decoder must support (RFC 9659).
const zstdWindow = 8 << 20

var zstds = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		panic(err) // wrong options are a bug of ours
	}
	return d
}}

// unzstd decodes zstd with a window of at most zstdWindow. The errors are as for gunzip.
func unzstd(data []byte, max int64) ([]byte, error) {
	d := zstds.Get().(*zstd.Decoder)
	defer zstds.Put(d)
	defer func() { _ = d.Reset(nil) }()
	if err := d.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return readUpTo(d, len(data), max)
}

// readUpTo reads all of r, which decodes size bytes. If there are more than max, it returns
// errTooLarge and reads no further.
func readUpTo(r io.Reader, size int, max int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(int64(size)*4, max, firstBody)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(r, max+1))
	switch {
	case n > max:
		return nil, errTooLarge
	case err != nil:
		return nil, err
	}
	return b.Bytes(), nil
}
