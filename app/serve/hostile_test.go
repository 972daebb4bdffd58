package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/session"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// Only the awaited answer shows that a page is alive: a page that keeps requesting plans
// while it owes pixels loses the device to the next one that waits.
func TestChatterIsNoAnswer(t *testing.T) {
	needDevice(t)
	s := start(t, Options{Stall: 500 * time.Millisecond})
	ctx := within(t, time.Minute)
	slow := enter(t, s)
	require.NoError(t, slow.open(ctx))
	slow.mute = true
	id, err := slow.ask(ctx, map[string]any{"type": "encode", "clip": map[string]any{"frames": 1, "height": 16, "width": 16}})
	require.NoError(t, err)
	ended := make(chan error, 1)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		var err error
		for err == nil {
			_, _, err = slow.next(ctx)
		}
		ended <- err
	})
	stop := make(chan struct{})
	defer close(stop)
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			_ = slow.send(ctx, map[string]any{"type": "ack", "id": id, "seq": 1}, nil)
			_ = slow.send(ctx, map[string]any{"type": "plan", "id": 1000 + i}, nil)
		}
	})
	other := enter(t, s)
	require.NoError(t, other.open(ctx))
	frames, err := other.decode(ctx, latentFile(t, 1, 1))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(<-ended))
}

// A page that stops in the middle of a header does not prevent others from opening files.
func TestSilentWhileOpening(t *testing.T) {
	needDevice(t)
	s := start(t, Options{Stall: 500 * time.Millisecond})
	ctx := within(t, time.Minute)
	silent := enter(t, s)
	silent.mute = true
	_, err := silent.ask(ctx, map[string]any{"type": "inspect", "source": silent.source("z.npy", latentFile(t, 1, 1))})
	require.NoError(t, err)
	_, _, err = silent.next(ctx) // the question
	require.NoError(t, err)
	require.NoError(t, enter(t, s).open(ctx))
	_, _, err = silent.next(ctx)
	assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
}

// Silent connections are closed, those of pages too.
func TestIdleConnections(t *testing.T) {
	s := start(t, Options{Idle: 200 * time.Millisecond})
	ctx := within(t, 10*time.Second)
	_, _, err := enter(t, s).ws.Read(ctx)
	assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
	for _, said := range []string{"", "GET /app.js HTTP/1.1\r\nHost: x\r\n", "GET /app.js HTTP/1.1\r\nHost: x\r\n\r\n"} {
		c, err := net.Dial("tcp", s.listen.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(5*time.Second)))
		_, err = c.Write([]byte(said))
		require.NoError(t, err)
		lines := bufio.NewReader(c)
		if strings.HasSuffix(said, "\r\n\r\n") {
			r, err := http.ReadResponse(lines, nil)
			require.NoError(t, err)
			r.Body.Close()
		}
		for err == nil {
			_, err = lines.ReadByte()
		}
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%q: still open", said)
	}
	// A page with a pending request stays connected.
	c := enter(t, s)
	for range 2 {
		_, err := c.request(ctx, map[string]any{"type": "plan"}, nil)
		require.ErrorAs(t, err, new(failed))
		time.Sleep(500 * time.Millisecond)
	}
}

// An idle page makes room for another; a page with a request does not.
func TestIdlePageMakesRoom(t *testing.T) {
	needDevice(t)
	const idle = 250 * time.Millisecond // a slow machine's page sends its first message within that time
	s := start(t, Options{MaxPages: 1, Idle: idle})
	ctx := within(t, time.Minute)
	busy := enter(t, s)
	require.NoError(t, busy.open(ctx))
	busy.mute = true
	_, err := busy.ask(ctx, map[string]any{"type": "inspect", "source": busy.source("z.npy", latentFile(t, 1, 1))})
	require.NoError(t, err)
	time.Sleep(12 * idle)
	_, _, err = enter(t, s).ws.Read(ctx)
	require.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(err), "%v", err)
	require.NoError(t, busy.send(ctx, map[string]any{"type": "cancel", "id": busy.id}, nil))
	time.Sleep(12 * idle)
	_, err = enter(t, s).request(ctx, map[string]any{"type": "plan"}, nil)
	require.ErrorAs(t, err, new(failed))
	for err = nil; err == nil; {
		_, _, err = busy.next(ctx)
	}
	assert.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(err), "%v", err)
}

// Unrequested bytes of pages take no memory, however many pages send them.
func TestUnaskedBytes(t *testing.T) {
	s := start(t, Options{})
	ctx := within(t, time.Minute)
	const pages, bytes = 8, 16 << 20
	message := append([]byte{27, 0, 0, 0}, `{"type":"bytes","read":123}`...)
	message = append(message, make([]byte, bytes)...)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.TotalAlloc
	var all sync.WaitGroup
	for range pages {
		c := enter(t, s)
		all.Go(func() {
			assert.NoError(t, c.ws.Write(ctx, websocket.MessageBinary, message))
			_, err := c.request(ctx, map[string]any{"type": "plan"}, nil) // after it
			assert.ErrorAs(t, err, new(failed))
		})
	}
	all.Wait()
	runtime.ReadMemStats(&m)
	assert.Less(t, m.TotalAlloc-before, uint64(bytes), "for %d pages", pages)
}

// sparse creates a file with a header and the given size, without disk space.
func sparse(t *testing.T, path string, header []byte, size int64) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, header, 0o666))
	if err := os.Truncate(path, size); err != nil {
		t.Skipf("no sparse file of %d bytes: %v", size, err)
	}
}

// tensors returns a safetensors header, and the size of its file.
func tensors(t *testing.T, specs ...safetensors.Spec) (header []byte, size int64) {
	t.Helper()
	head, data, err := safetensors.Size(specs, nil)
	require.NoError(t, err)
	var b strings.Builder
	_, err = safetensors.NewWriter(&b, specs, nil)
	require.NoError(t, err)
	require.EqualValues(t, 8+head, b.Len())
	return []byte(b.String()), 8 + head + data
}

// npy returns a .npy header, and the size of its file.
func npy(shape string, elements int64) (header []byte, size int64) {
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape)
	header = append([]byte("\x93NUMPY\x01\x00\x00\x00"), text...)
	header[8] = byte(len(text))
	return header, int64(len(header)) + 4*elements
}

// Sparse files of a terabyte are refused by their headers, from the folder and as the
// page's own, and the server continues.
func TestRefuseSparseTerabytes(t *testing.T) {
	needDevice(t)
	folder := t.TempDir()
	s := start(t, Options{Folder: folder})
	ctx := within(t, time.Minute)
	c := enter(t, s)
	require.NoError(t, c.open(ctx))
	shape := []int{16, 1 << 12, 1 << 11, 1 << 11}
	const elements = 16 << 34
	files := map[string]func() ([]byte, int64){
		"a.npy": func() ([]byte, int64) { return npy("16, 4096, 2048, 2048", elements) },
		"b.npy": func() ([]byte, int64) { return npy("16, 1, 131072, 131072", elements) },
		"c.safetensors": func() ([]byte, int64) {
			return tensors(t, safetensors.Spec{Name: "latent", DType: safetensors.F32, Shape: shape})
		},
		"d.latent": func() ([]byte, int64) {
			return tensors(t, safetensors.Spec{Name: "latent_tensor", DType: safetensors.F32, Shape: append([]int{1}, shape...)})
		},
		"e.npy": func() ([]byte, int64) { return npy("16, 131072, 16, 2048", elements/4) }, // frames that fit
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.TotalAlloc
	for name, file := range files {
		header, size := file()
		sparse(t, filepath.Join(folder, name), header, size)
		c.files = append(c.files, append(header, make([]byte, 4<<20)...)) // as much as is requested
		own := map[string]any{"id": len(c.files), "name": name, "size": size}
		for _, source := range []map[string]any{{"path": name}, own} {
			for _, ask := range []string{"inspect", "decode", "open"} {
				_, err := c.request(ctx, map[string]any{"type": ask, "source": source, "precision": "f32"}, nil)
				var f failed
				require.ErrorAs(t, err, &f, "%s %v", ask, source)
				assert.Equal(t, "bad_input", f.code, "%s %v: %s", ask, source, f.message)
			}
		}
	}
	runtime.ReadMemStats(&m)
	assert.Less(t, m.TotalAlloc-before, uint64(512<<20))
	frames, err := c.decode(ctx, latentFile(t, 1, 1))
	require.NoError(t, err)
	require.Len(t, frames, 1)
}

// Sparse checkpoints with consistent sizes are refused too.
func TestSparseCheckpoints(t *testing.T) {
	needDevice(t)
	folder := t.TempDir()
	s := start(t, Options{Folder: folder})
	c := enter(t, s)
	ctx := within(t, time.Minute)
	for name, all := range map[string][]synthetic.Spec{
		"wan.safetensors":     synthetic.Wan(synthetic.WanConfig{Dim: 4, Latent: 30000}),
		"wide.safetensors":    synthetic.Wan(synthetic.WanConfig{Dim: 16000}),
		"seedvr2.safetensors": synthetic.SeedVR2([]int{32, 64, 96, 96}, 60000),
	} {
		var specs []safetensors.Spec
		for _, t := range all {
			specs = append(specs, safetensors.Spec{Name: t.Name, DType: safetensors.F32, Shape: t.Shape})
		}
		header, size := tensors(t, specs...)
		sparse(t, filepath.Join(folder, name), header, size)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		before := m.TotalAlloc
		_, err := c.request(ctx, map[string]any{"type": "open", "source": map[string]any{"path": name}, "precision": "f32"}, nil)
		assert.Equal(t, strings.HasPrefix(name, "w"), err != nil, "%s: %v", name, err) // a Wan of zeros is flat
		runtime.ReadMemStats(&m)
		assert.Less(t, m.TotalAlloc-before, uint64(512<<20), name)
	}
	require.NoError(t, c.open(ctx))
}

// After a bug in the engine the device is not used again.
func TestDeviceAfterPanic(t *testing.T) {
	needDevice(t)
	s := start(t, Options{})
	d := desk{s.engine}
	first, err := d.Turn(t.Context(), func(int) {})
	require.NoError(t, err)
	d.Done(fmt.Errorf("what happened: %w", session.ErrPanic))
	second, err := d.Turn(t.Context(), func(int) {})
	require.NoError(t, err)
	assert.NotSame(t, first, second)
	d.Done(nil)
}
