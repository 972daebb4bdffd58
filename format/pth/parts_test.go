//go:build !js

package pth_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth"
	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
)

// plain returns a file of one number under a name, whose length sets the file's, without
// torch's 64-bit records.
func plain(t *testing.T, name string, value byte) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, pthtest.Write(&b, []pthtest.Tensor{{Name: name, DType: safetensors.U8, Shape: []int{1}, Data: pthtest.Bytes([]byte{value})}}, pthtest.Options{}))
	return b.Bytes()
}

// item is plain with 64-bit records.
func item(t *testing.T, name string, value byte) []byte {
	t.Helper()
	file := plain(t, name, value)
	at := len(file) - 22
	number := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(file[at:])) }
	entries, length, offset := uint64(binary.LittleEndian.Uint16(file[at+10:])), number(at+12), number(at+16)
	out := append(file[:at:at], "PK\x06\x06\x2c\x00\x00\x00\x00\x00\x00\x00\x1e\x03\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, n := range []uint64{entries, entries, length, offset} {
		out = binary.LittleEndian.AppendUint64(out, n)
	}
	out = append(out, "PK\x06\x07\x00\x00\x00\x00"...)
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	return append(append(out, 1, 0, 0, 0), file[at:]...)
}

// Several files, one after another, are not one file: Read says so, and Parts finds each,
// whatever their lengths.
func TestParts(t *testing.T) {
	for about, files := range map[string][][]byte{
		"one":            {item(t, "a", 1)},
		"equal lengths":  {item(t, "a", 1), item(t, "b", 2), item(t, "c", 3)},
		"other lengths":  {item(t, "a", 1), item(t, strings.Repeat("b", 300), 2), item(t, "cc", 3)},
		"without 64 bit": {plain(t, "a", 1), plain(t, "bb", 2)},
		"mixed":          {item(t, "a", 1), plain(t, "bb", 2), item(t, "ccc", 3)},
	} {
		all := slices.Concat(files...)
		r := bytes.NewReader(all)
		f, err := pth.Read(r, int64(len(all)), "shard_0.bin")
		if len(files) > 1 {
			require.ErrorIs(t, err, pth.ErrSeveral, about)
			require.ErrorContains(t, err, "pth: shard_0.bin: it contains several files of torch.save: the last begins at byte ", about)
		} else {
			require.NoError(t, err, about)
			require.NoError(t, f.Close())
		}
		parts, err := pth.Parts(r, int64(len(all)))
		require.NoError(t, err, about)
		require.Len(t, parts, len(files), about)
		var at int64
		for i, p := range parts {
			require.Equal(t, pth.Part{Offset: at, Size: int64(len(files[i]))}, p, about)
			at += p.Size
			f, err := pth.Read(io.NewSectionReader(r, p.Offset, p.Size), p.Size, "part")
			require.NoError(t, err, about)
			x, ok := f.Tensor(f.Names()[0])
			require.True(t, ok)
			var value [1]byte
			require.NoError(t, x.ReadRaw(value[:], 0))
			assert.EqualValues(t, i+1, value[0], about)
		}
	}
}

// A truncated file, or one that claims a wrong length, is refused.
func TestRefusedParts(t *testing.T) {
	all := slices.Concat(item(t, "a", 1), item(t, "b", 2))
	huge := func(at int, n uint64) []byte {
		b := slices.Clone(all)
		binary.LittleEndian.PutUint64(b[len(b)-98+at:], n)
		return b
	}
	for about, c := range map[string]struct {
		file []byte
		want string
	}{
		"end cut":          {all[:len(all)-1], "no file of torch.save ends at byte "},
		"start cut":        {all[7:], "has a directory of "},
		"something before": {append([]byte("0123456789012345678901234567890123456789"), all...), "no file of torch.save ends at byte 40"},
		"too little":       {all[len(all)-10:], "no file of torch.save ends at byte 10"},
		"length":           {huge(40, 1<<62), "has a directory of 4611686018427387904 bytes after "},
		"negative":         {huge(48, 1<<63), "has a directory of "},
		"both":             {huge(40, 1<<63-1), "has a directory of "},
	} {
		_, err := pth.Parts(bytes.NewReader(c.file), int64(len(c.file)))
		assert.ErrorContains(t, err, c.want, about)
	}
	var many bytes.Buffer
	one := item(t, "a", 1)
	for range 1<<15 + 1 {
		many.Write(one)
	}
	_, err := pth.Parts(bytes.NewReader(many.Bytes()), int64(many.Len()))
	require.EqualError(t, err, "it contains more than 32768 files of torch.save")
}
