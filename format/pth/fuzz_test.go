package pth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
)

// inspect checks an accepted file against the package's promises.
func inspect(t *testing.T, f *File, err error, size int64) {
	t.Helper()
	if err != nil {
		var format *FormatError
		require.ErrorAs(t, err, &format)
		require.LessOrEqual(t, len(err.Error()), 2000, "bytes of error")
		return
	}
	for _, name := range f.Names() {
		x, ok := f.Tensor(name)
		require.True(t, ok, "%q is listed and not found", name)
		require.LessOrEqual(t, x.Bytes(), size, "bytes of %q in the file", name)
		require.NoError(t, x.ReadRaw(make([]byte, x.Bytes()), 0))
	}
}

// agree checks that both unpicklers give the same result.
func agree(t *testing.T, a *File, err1 error, b *File, err2 error) {
	t.Helper()
	if err1 == nil && err2 != nil && strings.Contains(err2.Error(), "attributes are set on") {
		return // gopickle ignores some errors
	}
	require.Equal(t, err1 == nil, err2 == nil, "gopickle: %v\nevaluate: %v", err1, err2)
	if err1 != nil {
		return
	}
	require.Equal(t, a.Names(), b.Names(), "of gopickle and evaluate")
	for _, name := range a.Names() {
		x, _ := a.Tensor(name)
		y, _ := b.Tensor(name)
		require.Equal(t, fmt.Sprint(x.DType, x.Shape), fmt.Sprint(y.DType, y.Shape), "%q of gopickle and evaluate", name)
	}
}

// FuzzRead: Read refuses any bytes, or returns tensors that can all be read.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pth")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add(zipped(view(store(6), 0, []int{6}, []int{1}), 24))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err1 := open(b, unpickle)
		inspect(t, a, err1, int64(len(b)))
		c, err2 := open(b, evaluate)
		inspect(t, c, err2, int64(len(b)))
		agree(t, a, err1, c, err2)
	})
}

// FuzzPickle is FuzzRead for a pickle in an otherwise valid file.
func FuzzPickle(f *testing.F) {
	for _, c := range badPickles() {
		if len(c.pickle) < 10_000 {
			f.Add(c.pickle)
		}
	}
	for _, o := range []pthtest.Options{{}, {Ordered: true}, {Key: "state_dict"}} {
		f.Add(pthtest.Dump(content(network()[1:2]), o))
	}
	f.Add(view(store(6), 2, []int{2, 2}, []int{2, 1}))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		if len(pickle) > 1<<16 {
			return // as for large files: TestHostileIsBounded
		}
		b := zipped(pickle, 24)
		a, err1 := open(b, unpickle)
		inspect(t, a, err1, int64(len(b)))
		c, err2 := open(b, evaluate)
		inspect(t, c, err2, int64(len(b)))
		agree(t, a, err1, c, err2)
	})
}
