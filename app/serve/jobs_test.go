package serve

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTwentyPages: each of twenty connections gets the same frames.
func TestTwentyPages(t *testing.T) {
	needDevice(t)
	s := start(t, Options{})
	ctx := within(t, 5*time.Minute)
	z := latentFile(t, 1, 1)
	const pages = 20
	results := make([][][]byte, pages)
	errs := make([]error, pages)
	waited := make([]bool, pages)
	var all sync.WaitGroup
	for i := range pages {
		c := enter(t, s)
		all.Go(func() {
			if errs[i] = c.open(ctx); errs[i] != nil {
				return
			}
			request := map[string]any{"type": "decode", "source": c.source("z.npy", z), "options": map[string]any{"tile": "off"}}
			_, errs[i] = c.request(ctx, request, func(h header, payload []byte) {
				switch h.Type {
				case "queued":
					waited[i] = true
				case "frame":
					results[i] = append(results[i], bytes.Clone(payload))
				}
			})
		})
	}
	all.Wait()
	queued := 0
	for i := range pages {
		require.NoError(t, errs[i], "page %d", i)
		require.Len(t, results[i], 1)
		assert.Len(t, results[i][0], 4*8*8)
		assert.True(t, bytes.Equal(results[i][0], results[0][0]), "page %d: %d frames, other than page 0's", i, len(results[i]))
		if waited[i] {
			queued++
		}
	}
	assert.NotZero(t, queued, "no page was told that it waits")
}

// TestDisconnect: a page that vanishes in the middle of a job leaves nothing behind, and
// the next page's job continues at once.
func TestDisconnect(t *testing.T) {
	needDevice(t)
	s := start(t, Options{})
	ctx := within(t, 2*time.Minute)
	first := enter(t, s)
	require.NoError(t, first.open(ctx))
	long := latentFile(t, 40, 4) // minutes on a slow device
	request := map[string]any{"type": "decode", "source": first.source("z.npy", long), "options": map[string]any{"tile": "off"}}
	_, err := first.ask(ctx, request)
	require.NoError(t, err)
	for h := (header{}); h.Type != "frame"; {
		var err error
		h, _, err = first.next(ctx)
		require.NoError(t, err)
	}
	first.ws.CloseNow()
	second := enter(t, s)
	require.NoError(t, second.open(ctx))
	frames, err := second.decode(ctx, latentFile(t, 1, 1))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	assert.EqualValues(t, 1, s.engine.pages.Load(), "pages are open, expected the second alone")
	require.NoError(t, s.engine.turns.take(ctx, "", func(int) {}))
	defer s.engine.turns.done()
	assert.LessOrEqual(t, s.engine.dev.Stats().Bytes, int64(64<<20), "bytes are still on the device")
}

func TestCancel(t *testing.T) {
	needDevice(t)
	s := start(t, Options{})
	ctx := within(t, 2*time.Minute)
	c := enter(t, s)
	require.NoError(t, c.open(ctx))
	want, err := c.decode(ctx, latentFile(t, 2, 1))
	require.NoError(t, err)
	request := map[string]any{"type": "decode", "source": c.source("z.npy", latentFile(t, 40, 4)), "options": map[string]any{"tile": "off"}}
	cancelled := false
	_, err = c.request(ctx, request, func(h header, _ []byte) {
		if h.Type == "frame" && !cancelled {
			cancelled = true
			assert.NoError(t, c.send(ctx, map[string]any{"type": "cancel", "id": h.ID}, nil))
		}
	})
	var f failed
	require.ErrorAs(t, err, &f)
	require.Equal(t, "cancelled", f.code)
	got, err := c.decode(ctx, latentFile(t, 2, 1))
	require.NoError(t, err)
	require.Len(t, got, 5)
	assert.True(t, bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)), "%d frames after a cancelled job, other than before it", len(got))
}

// TestStall: a page that keeps the device waiting loses it, but only when another page
// wants it.
func TestStall(t *testing.T) {
	needDevice(t)
	s := start(t, Options{Stall: 500 * time.Millisecond})
	ctx := within(t, time.Minute)
	slow := enter(t, s)
	require.NoError(t, slow.open(ctx))
	slow.mute = true
	request := map[string]any{"type": "decode", "source": map[string]any{"path": ""}, "options": map[string]any{"tile": "off"}}
	z := latentFile(t, 12, 1)
	request["source"] = slow.source("z.npy", z)
	id, err := slow.ask(ctx, request)
	require.NoError(t, err)
	pictures := 0
	for pictures < 4 { // all of its window, without acknowledgement
		h, _, err := slow.next(ctx)
		require.NoError(t, err)
		switch {
		case h.Type == "read": // the latent: answered, so that the job starts
			err = slow.send(ctx, map[string]any{"type": "bytes", "id": id, "read": h.Read}, slow.files[h.Source-1][h.Offset:][:h.Length])
		case h.Seq > 0:
			pictures++
		}
		require.NoError(t, err)
	}
	time.Sleep(time.Second)
	require.EqualValues(t, 1, s.engine.pages.Load(), "a page was sent away though no client waited")
	other := enter(t, s)
	require.NoError(t, other.open(ctx))
	frames, err := other.decode(ctx, latentFile(t, 1, 1))
	require.NoError(t, err)
	require.Len(t, frames, 1)
	for err = nil; err == nil; {
		_, _, err = slow.next(ctx)
	}
	assert.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "the slow page was told %v", err)
}

// TestTurns: first come, first served; a client that gives up does not delay the others.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q turns
		require.NoError(t, q.take(t.Context(), "", func(int) { t.Error("waits") }))
		var mu sync.Mutex
		var order []int
		positions := map[int][]int{}
		impatient, leave := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		for i := range 4 {
			ctx := t.Context()
			if i == 1 {
				ctx = impatient
			}
			go func() {
				err := q.take(ctx, "", func(n int) { positions[i] = append(positions[i], n) })
				if i == 1 {
					assert.Equal(t, gone, err, "the cause")
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				q.done()
			}()
			synctest.Wait()
		}
		leave(gone)
		synctest.Wait()
		q.done()
		synctest.Wait()
		assert.Equal(t, []int{0, 2, 3}, order, "the order that they were served in")
		assert.Equal(t, []int{4, 3, 2, 1}, positions[3], "what the last was told")
		assert.False(t, q.taken, "still taken")
	})
}

// TestTurnsAreFair: a client with many requests gets every second turn once a client with
// few arrives, and a page waits for one turn of each.
func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q turns
		require.NoError(t, q.take(t.Context(), "many", func(int) { t.Error("waits") }))
		var order []string
		positions := []int{}
		for i, client := range []string{"many", "many", "many", "few", "few", ""} {
			go func() {
				assert.NoError(t, q.take(t.Context(), client, func(n int) {
					if i == 2 {
						positions = append(positions, n)
					}
				}))
				order = append(order, client)
				q.done()
			}()
			synctest.Wait()
		}
		q.done()
		synctest.Wait()
		assert.Equal(t, []string{"few", "", "many", "few", "many", "many"}, order)
		assert.Equal(t, []int{3, 4, 5, 6, 5, 4, 3, 2}, positions[:8], "what the last of many was told")
		require.NoError(t, q.take(t.Context(), "other", func(int) { t.Error("waits") }))
		ctx, leave := context.WithCancel(t.Context())
		for range 5 {
			go func() { assert.Error(t, q.take(ctx, "impatient", func(int) {})) }()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		assert.Equal(t, q.round, q.last["impatient"], "who gave up waiting is not behind the others")
		q.done()
		require.NoError(t, q.take(t.Context(), "last", func(int) { t.Error("waits") }))
		assert.LessOrEqual(t, len(q.last), 4, "clients that are remembered")
	})
}

// TestTurnsRace takes and gives up turns from many goroutines.
func TestTurnsRace(t *testing.T) {
	var q turns
	var all sync.WaitGroup
	inside := 0 // guarded by the turn
	for i := range 50 {
		all.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
			defer stop()
			if q.take(ctx, "", func(int) {}) != nil {
				return
			}
			inside++
			assert.Equal(t, 1, inside, "two at once")
			time.Sleep(time.Millisecond)
			inside--
			q.done()
		})
	}
	all.Wait()
	assert.False(t, q.taken, "a turn was lost")
	assert.False(t, q.wanted(), "a turn was lost")
}
