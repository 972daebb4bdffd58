//go:build js

package browser

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"tessera/gpu/internal/driver"
)

// TestLargeTransfers writes and reads more than a chunk of each, at odd places.
func TestLargeTransfers(t *testing.T) {
	d := open(t)
	const size = readChunk + writeChunk + 52
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	b := must(d.NewBuffer("large", size+8, false))(t)
	if err := d.Write(b, 4, data); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(b, 4+100, []byte("later")[:4]); err != nil {
		t.Fatal(err)
	}
	copy(data[100:], "late")
	got := make([]byte, size+8)
	if err := d.Read(context.Background(), got, b, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[4:4+size], data) {
		t.Error("read back other bytes than written")
	}
	if !bytes.Equal(got[:4], make([]byte, 4)) || !bytes.Equal(got[4+size:], make([]byte, 4)) {
		t.Errorf("around it: %v, %v, want zeros", got[:4], got[4+size:])
	}
	part := make([]byte, 64)
	if err := d.Read(context.Background(), part, b, size-100); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(part, got[size-100:size-36]) {
		t.Error("a part reads otherwise than the whole")
	}
}

// TestOrder: writes, submissions and reads happen in the order of the calls.
func TestOrder(t *testing.T) {
	d := open(t)
	b, c := newBuffer(t, d, words(1)), newBuffer(t, d, words(0))
	for i := range uint32(20) {
		if err := d.Write(b, 0, words(i)); err != nil {
			t.Fatal(err)
		}
		must(d.Submit("copy", []driver.Command{{Src: driver.Binding{Buffer: b, Size: 4}, Dst: driver.Binding{Buffer: c, Size: 4}}}))(t)
		if err := d.Write(b, 0, words(99)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, d, c, 1); got[0] != i {
			t.Fatalf("read %d, want %d", got[0], i)
		}
	}
}
