package web

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
	page "tessera/web"
)

// TestNPM uses the npm package like its users. Its types are complete for a strict
// project, and its example decodes in Chromium to equal pictures when built by Vite and
// without a bundler.
func TestNPM(t *testing.T) {
	t.Parallel()
	chromium(t)
	if _, err := page.Page(); errors.Is(err, page.ErrNotBuilt) && !testenv.Required() {
		t.Skip(err)
	}
	dir := t.TempDir()
	example := filepath.Join(dir, "example")
	require.NoError(t, os.CopyFS(example, os.DirFS(root+"/integrations/npm/example")))
	installed := filepath.Join(example, "node_modules", "tessera-vae")
	command(t, root, "tools/npm.sh", installed)

	t.Run("types", func(t *testing.T) {
		require.NoError(t, os.WriteFile(filepath.Join(example, "use.ts"), []byte(`
import { connect, EngineError, type Engine } from 'tessera-vae';
import type { Device, FrameEvent, Options } from 'tessera-vae/protocol.js';

const options: Options = { tile: '256' };
export async function frames(file: File): Promise<FrameEvent[]> {
  const engine: Engine = await connect('browser');
  const device: Device = await engine.device();
  const list: FrameEvent[] = [];
  try {
    for await (const event of engine.decode(file, options)) if (event.type === 'frame') list.push(event);
  } catch (error) {
    if (error instanceof EngineError) throw new Error(device.name + error.code);
  }
  // @ts-expect-error
  engine.decode(file, { tiling: 'wide' });
  return list;
}
`), 0o666))
		command(t, example, abs(t, root+"/web/node_modules/.bin/tsc"), "--strict", "--noEmit", "--target", "es2022",
			"--lib", "es2022,dom,dom.iterable,dom.asynciterable", "--module", "nodenext", "use.ts")
	})

	latent := filepath.Join(dir, "z.npy")
	writeLatent(t, latent)
	var first string
	for _, name := range []string{"vite", "without a bundler"} {
		t.Run(name, func(t *testing.T) {
			folder := example
			if name == "vite" {
				command(t, example, vite(t), "build", "--logLevel", "warn")
				folder = filepath.Join(example, "dist")
			}
			s := httptest.NewServer(http.StripPrefix("/below/a/folder", http.FileServer(http.Dir(folder))))
			t.Cleanup(s.Close)
			v := visitIn(t, tab(t, s.URL+"/below/a/folder/"), s.URL)
			v.do(chromedp.SetUploadFiles("#checkpoint", []string{abs(t, model)}), chromedp.SetUploadFiles("#latent", []string{latent}))
			v.wait("the end", 5*time.Minute, `document.getElementById('status').value !== '' && !/ %$/.test(document.getElementById('status').value)`)
			require.Equal(t, "done", v.text("status"))
			got := eval[[]string](t, v.tab, `[...document.querySelectorAll('canvas')].map((c) => c.toDataURL())`)
			require.Len(t, got, 1)
			require.True(t, eval[bool](t, v.tab, `(() => {
				const c = document.querySelector('canvas'), {data} = c.getContext('2d').getImageData(0, 0, c.width, c.height);
				return c.width === 24 && c.height === 16 && new Set(data).size > 16;
			})()`), "a picture of 24×16 that is not flat")
			if first == "" {
				first = got[0]
			}
			require.Equal(t, first, got[0])
		})
	}
}

// writeLatent writes a latent of one frame of 2×3.
func writeLatent(t *testing.T, name string) {
	t.Helper()
	const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 1, 2, 3), }"
	data := fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", header)
	r := rand.New(rand.NewPCG(7, 0))
	for range 16 * 2 * 3 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(r.NormFloat64())))
	}
	require.NoError(t, os.WriteFile(name, data, 0o666))
}

// vite returns the bundler, installed once into build/.
func vite(t *testing.T) string {
	t.Helper()
	folder := abs(t, root+"/build/vite")
	lock, err := os.ReadFile("testdata/vite/package-lock.json")
	require.NoError(t, err)
	program := filepath.Join(folder, "node_modules/.bin/vite")
	if had, err := os.ReadFile(filepath.Join(folder, "installed")); err != nil || string(had) != string(lock) {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.CopyFS(folder, os.DirFS("testdata/vite")))
		cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			testenv.Missing(t, "Vite was not installed: %v\n%s", err, out)
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, "installed"), lock, 0o666))
	}
	return program
}

// command runs a program and waits for it.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s:\n%s", name, strings.Join(args, " "), out)
}

func abs(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	require.NoError(t, err)
	return p
}
