// Package compress compresses the values of a store, each separately and with a checksum, so
// that reading detects a value that the disk has changed.
//
// A value is a zstd frame. A part of a series, whose counts have hardly any repetitions, is
// Huffman codes alone, which are as short and take a third of the time: the byte 'h', the
// length of the data (uvarint), its CRC-32C (4 bytes, little endian), and the output of
// huff0.
package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// Largest is the greatest length of a value of a store, in bytes. A longer one was not
// written by a store.
const Largest = 256 << 20

// Codec compresses values. It may be used by any number of goroutines.
type Codec struct {
	in     *zstd.Encoder
	out    *zstd.Decoder
	coders sync.Pool // of *huff0.Scratch
}

const (
	huffed    = 'h' // a zstd frame begins with another byte
	maxHuffed = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// New returns a codec, which need not be closed. Its Unpack returns an error for values of
// more than largest bytes, but not for PackCounts's codes, of at most 64 KiB.
func New(largest uint64) (*Codec, error) {
	in, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	out, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(largest))
	if err != nil {
		return nil, err
	}
	return &Codec{in: in, out: out, coders: sync.Pool{New: func() any { return new(huff0.Scratch) }}}, nil
}

// Pack returns b compressed.
func (c *Codec) Pack(b []byte) []byte { return c.in.EncodeAll(b, make([]byte, 0, len(b)/2+64)) }

// PackCounts returns b, a part of a series, compressed: as Huffman codes, or like Pack if it
// is longer than 64 KiB or can't be shortened by them. Unpack reads both forms.
func (c *Codec) PackCounts(b []byte) []byte {
	if len(b) > maxHuffed {
		return c.Pack(b)
	}
	s := c.coders.Get().(*huff0.Scratch)
	defer c.coders.Put(s)
	s.Reuse = huff0.ReusePolicyNone
	codes, _, err := huff0.Compress1X(b, s)
	if err != nil { // too short, or a single byte repeated
		return c.Pack(b)
	}
	packed := binary.AppendUvarint(append(make([]byte, 0, len(codes)+16), huffed), uint64(len(b)))
	packed = binary.LittleEndian.AppendUint32(packed, crc32.Checksum(b, castagnoli))
	return append(packed, codes...)
}

// Unpack returns the value that was compressed to b, in a new slice. It returns an error if
// b is damaged or not a compressed value, or if the value is longer than New allows; an
// empty b is an empty value.
func (c *Codec) Unpack(b []byte) ([]byte, error) {
	unpacked := c.unpackFrame
	if len(b) > 0 && b[0] == huffed {
		unpacked = c.unpackCounts
	}
	data, err := unpacked(b)
	if err != nil {
		return nil, fmt.Errorf("a stored value is damaged: %w", err)
	}
	return data, nil
}

func (c *Codec) unpackFrame(b []byte) ([]byte, error) { return c.out.DecodeAll(b, nil) }

// unpackCounts is Unpack for Huffman codes; b must not be empty. It checks the length, which
// is maxHuffed at most, and the checksum.
func (c *Codec) unpackCounts(b []byte) ([]byte, error) {
	length, n := binary.Uvarint(b[1:])
	if n <= 0 || length > maxHuffed || len(b) < 1+n+4 {
		return nil, errors.New("its head is cut short")
	}
	sum, codes := binary.LittleEndian.Uint32(b[1+n:]), b[1+n+4:]
	s, codes, err := huff0.ReadTable(codes, nil)
	if err != nil {
		return nil, err
	}
	data, err := s.Decoder().Decompress1X(make([]byte, 0, length), codes)
	if err != nil {
		return nil, err
	}
	if uint64(len(data)) != length || crc32.Checksum(data, castagnoli) != sum {
		return nil, errors.New("its checksum is wrong")
	}
	return data, nil
}
