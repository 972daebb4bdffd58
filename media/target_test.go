//go:build !js

package media

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/latent"
)

// link makes a link to a target that need not exist, if the system allows it.
func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Skipf("no links here: %v", err)
	}
}

// requireLink checks that a link still exists, with its target.
func requireLink(t *testing.T, to, name string) {
	t.Helper()
	got, err := os.Readlink(name)
	require.NoError(t, err, "the link was replaced")
	require.Equal(t, to, got)
}

// realDir returns a temporary folder without links in its path.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func TestTarget(t *testing.T) {
	dir := realDir(t)
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	require.NoError(t, os.MkdirAll(in("far/deep"), 0o777))
	require.NoError(t, os.WriteFile(in("far/z.npy"), nil, 0o666))
	link(t, filepath.Join("far", "deep"), in("deep"))
	link(t, filepath.Join("far", "z.npy"), in("z.npy"))
	link(t, "z.npy", in("again.npy"))
	link(t, "nowhere.npy", in("lost.npy"))
	link(t, "loop.npy", in("loop.npy"))
	t.Chdir(dir)
	for path, want := range map[string]string{
		"new.npy":         in("new.npy"),
		in("new.npy"):     in("new.npy"),
		"frames/":         in("frames"),
		"far":             in("far"),
		"far/../far/":     in("far"),
		"deep":            in("far/deep"),
		"deep/new.npy":    in("far/deep/new.npy"),
		"deep/../new.npy": in("far/new.npy"), // as the system resolves it
		"z.npy":           in("far/z.npy"),
		"again.npy":       in("far/z.npy"),
		".":               dir,
	} {
		got, err := Target(filepath.FromSlash(path))
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	for path, want := range map[string]string{
		"":               "output has no name",
		"none/new.npy":   "folder none doesn't exist",
		"lost.npy":       "lost.npy: is a broken link",
		"loop.npy":       "loop.npy: is a broken link",
		"lost.npy/x.npy": "folder lost.npy doesn't exist",
	} {
		_, err := Target(filepath.FromSlash(path))
		require.ErrorContains(t, err, want, path)
	}
}

// TestOutputFollowsLinks: a link's target is replaced and the link stays; a link without
// a target also stays.
func TestOutputFollowsLinks(t *testing.T) {
	for _, name := range outputNames {
		t.Run(name, func(t *testing.T) {
			skipWithoutFFmpeg(t, name)
			here, there := realDir(t), realDir(t)
			path, target := filepath.Join(here, name), filepath.Join(there, name)
			link(t, target, path)
			f := Format{Height: 16, Width: 16, Frames: framesFor(name)}
			_, err := Create(context.Background(), path, f)
			require.ErrorContains(t, err, "is a broken link")
			only(t, here, name)
			only(t, there)

			writeClip(t, target, Format{Height: 8, Width: 8, Frames: framesFor(name)})
			writeClip(t, path, f)
			requireLink(t, target, path)
			only(t, here, name)
			only(t, there, name)
			openClip(t, target, f)
		})
	}
}

func TestLatentFollowsLinks(t *testing.T) {
	here, there := realDir(t), realDir(t)
	path, target := filepath.Join(here, "z.npy"), filepath.Join(there, "other.npy")
	link(t, target, path)
	require.ErrorContains(t, CheckLatentOutput(path), "is a broken link")
	z := latent.Latent{Channels: 1, Frames: 1, Height: 1, Width: 1, Data: []float32{3}}
	require.ErrorContains(t, WriteLatent(path, z), "is a broken link")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o666))
	require.NoError(t, CheckLatentOutput(path))
	require.NoError(t, WriteLatent(path, z))
	requireLink(t, target, path)
	only(t, here, "z.npy")
	only(t, there, "other.npy")
	got, err := ReadLatent(target, 1)
	require.NoError(t, err)
	require.Equal(t, z.Data, got.Data)
}
