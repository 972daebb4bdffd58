//go:build !js

package temporary

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test be a program that is killed: it makes what the environment
// names, and waits.
func TestMain(m *testing.M) {
	dir := os.Getenv("TEMPORARY_IN")
	if dir == "" {
		os.Exit(m.Run())
	}
	f, err := Create(dir, ".out.mp4", 0o666)
	if err == nil {
		_, err = f.WriteString("half")
	}
	d, derr := Mkdir(dir, ".frames", 0o777)
	if derr == nil {
		derr = os.WriteFile(filepath.Join(d.Name(), "frame_0000.png"), nil, 0o666)
	}
	_, oerr := Create(dir, "tessera-frames", 0o600)
	if err != nil || derr != nil || oerr != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("made\n")
	os.Stdin.Read(make([]byte, 1))
}

// started returns such a program after it has made its files in dir.
func started(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEMPORARY_IN="+dir)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 8))
	require.NoError(t, err)
	return cmd
}

// names returns the names in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// age makes everything in dir older than what Sweep leaves alone on systems without
// locks.
func age(t *testing.T, dir string) {
	t.Helper()
	for _, name := range names(t, dir) {
		then := time.Now().Add(-time.Minute)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), then, then))
	}
}

// A running program's files stay. After the program is killed, Sweep removes them.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	p := started(t, dir)
	age(t, dir)
	require.Len(t, names(t, dir), 3)
	Sweep(dir)
	require.Len(t, names(t, dir), 3, "of a living program")
	q := started(t, dir)
	require.NoError(t, p.Process.Kill())
	p.Wait()
	age(t, dir)
	Sweep(dir)
	require.Len(t, names(t, dir), 3, "of the second program")
	require.NoError(t, q.Process.Kill())
	q.Wait()
	age(t, dir)
	Sweep(dir)
	require.Empty(t, names(t, dir))
}

// Sweep removes only abandoned files and folders with a name of this machine and user.
func TestSweepLeavesOthers(t *testing.T) {
	dir := t.TempDir()
	mine := ".tmp-" + host() + "-0123abcd"
	kept := []string{
		".out.mp4.tmp-00000000-0123abcd", "out.mp4" + mine, ".out" + mine + ".png", ".out.tmp-0123abcd", mine, "tessera-x", "other-x" + mine,
		".out.tmp-unlocked-0123abcd", ".out.tmp-00000000-0123abcd.old", ".old",
	}
	for _, name := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	gone := []string{".out.mp4" + mine, "tessera-blend" + mine, ".çıktı ş\n" + mine}
	if runtime.GOOS == "windows" {
		gone = gone[:2]
	}
	for _, name := range gone {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("out.mp4"+mine, filepath.Join(dir, ".link"+mine)))
		kept = append(kept, ".link"+mine)
	}
	age(t, dir)
	Sweep(dir)
	assert.ElementsMatch(t, kept, names(t, dir))
	Sweep(filepath.Join(dir, "nowhere"))
}

// Even root leaves another user's files alone.
func TestSweepLeavesOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make files of others")
	}
	path := filepath.Join(t.TempDir(), ".out.tmp-"+host()+"-0123abcd")
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	require.NoError(t, os.Chown(path, 1234, 1234))
	Sweep(filepath.Dir(path))
	require.FileExists(t, path)
}

// Frames that were moved aside return if nothing took their place, and are removed if
// something did.
func TestSweepBringsBack(t *testing.T) {
	mine := ".frames.tmp-" + host() + "-0123abcd"
	for name, c := range map[string]struct{ made, want []string }{
		"before they moved":   {[]string{"frames/old", mine + "/new"}, []string{"frames/old"}},
		"between":             {[]string{mine + "/new", mine + ".old/old"}, []string{"frames/old"}},
		"after":               {[]string{"frames/new", mine + ".old/old"}, []string{"frames/new"}},
		"between, and others": {[]string{"frames/other", mine + "/new", mine + ".old/old"}, []string{"frames/other"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.made {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o777))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o666))
			}
			age(t, dir)
			Sweep(dir)
			var left []string
			require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
				if !e.IsDir() {
					left = append(left, path)
				}
				return err
			}))
			assert.Equal(t, c.want, left)
			assert.Len(t, names(t, dir), 1)
		})
	}
}

// Names may have any length, and an open File has no name where the system allows it.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, "."+strings.Repeat("n", 254), 0o666)
	require.NoError(t, err)
	require.NoError(t, Publish(f, filepath.Join(dir, strings.Repeat("n", 255))))
	require.Len(t, names(t, dir), 1)
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	s, err := Open("blend")
	require.NoError(t, err)
	if runtime.GOOS == "linux" {
		require.Len(t, names(t, dir), 1)
	}
	require.NoError(t, s.Close())
	require.Len(t, names(t, dir), 1)
}

// A long name is cut between characters: some file systems refuse half of one.
func TestLongNames(t *testing.T) {
	for _, stem := range []string{strings.Repeat("é", 120), "." + strings.Repeat("é", 120), "." + strings.Repeat("流", 80)} {
		f, err := Create(t.TempDir(), stem, 0o600)
		require.NoError(t, err)
		name := filepath.Base(f.Name())
		require.NoError(t, f.Close())
		assert.True(t, utf8.ValidString(name), "%q", name)
		assert.Regexp(t, ours, "."+name)
	}
}

// Folders are made during a sweep, which may mistake one for abandoned before it is
// locked.
func TestMkdirBesideSweep(t *testing.T) {
	dir, done := t.TempDir(), make(chan struct{})
	var swept sync.WaitGroup
	for range 2 {
		swept.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					Sweep(dir)
				}
			}
		})
	}
	for range 100 {
		f, err := Mkdir(dir, "tessera-test", 0o700)
		if !assert.NoError(t, err) {
			break
		}
		_, err = os.Stat(f.Name())
		assert.NoError(t, err)
		f.Close()
		os.Remove(f.Name())
	}
	close(done)
	swept.Wait()
}

// Other processes cannot lock a locked file until it is closed.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := Lock(path)
	require.NoError(t, err)
	_, err = Lock(path)
	require.Error(t, err)
	require.NoError(t, f.Close())
	f, err = Lock(path)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
