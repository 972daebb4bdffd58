package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// TestTwentyPages: all get their frames, the same ones, each through a
// connection of its own.
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
		if errs[i] != nil {
			t.Fatalf("page %d: %v", i, errs[i])
		}
		if len(results[i]) != 1 || len(results[i][0]) != 4*8*8 || !bytes.Equal(results[i][0], results[0][0]) {
			t.Errorf("page %d: %d frames, other than page 0's", i, len(results[i]))
		}
		if waited[i] {
			queued++
		}
	}
	if queued == 0 {
		t.Error("no page was told that it waits")
	}
}

// TestDisconnect: a page that vanishes in the middle of a job leaves nothing
// behind, and the next page's job goes on at once.
func TestDisconnect(t *testing.T) {
	needDevice(t)
	s := start(t, Options{})
	ctx := within(t, 2*time.Minute)
	first := enter(t, s)
	if err := first.open(ctx); err != nil {
		t.Fatal(err)
	}
	long := latentFile(t, 40, 4) // minutes on a slow device
	request := map[string]any{"type": "decode", "source": first.source("z.npy", long), "options": map[string]any{"tile": "off"}}
	if _, err := first.ask(ctx, request); err != nil {
		t.Fatal(err)
	}
	for h := (header{}); h.Type != "frame"; {
		var err error
		if h, _, err = first.next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	first.ws.CloseNow()
	second := enter(t, s)
	if err := second.open(ctx); err != nil {
		t.Fatal(err)
	}
	if frames, err := second.decode(ctx, latentFile(t, 1, 1)); err != nil || len(frames) != 1 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	if n := s.engine.pages.Load(); n != 1 {
		t.Errorf("%d pages are open, expected the second alone", n)
	}
	if err := s.engine.turns.take(ctx, func(int) {}); err != nil {
		t.Fatal(err)
	}
	defer s.engine.turns.done()
	if got := s.engine.dev.Stats().Bytes; got > 64<<20 {
		t.Errorf("%d bytes are still on the device", got)
	}
}

func TestCancel(t *testing.T) {
	needDevice(t)
	s := start(t, Options{})
	ctx := within(t, 2*time.Minute)
	c := enter(t, s)
	if err := c.open(ctx); err != nil {
		t.Fatal(err)
	}
	want, err := c.decode(ctx, latentFile(t, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	request := map[string]any{"type": "decode", "source": c.source("z.npy", latentFile(t, 40, 4)), "options": map[string]any{"tile": "off"}}
	cancelled := false
	_, err = c.request(ctx, request, func(h header, _ []byte) {
		if h.Type == "frame" && !cancelled {
			cancelled = true
			if err := c.send(ctx, map[string]any{"type": "cancel", "id": h.ID}, nil); err != nil {
				t.Error(err)
			}
		}
	})
	var f failed
	if !errors.As(err, &f) || f.code != "cancelled" {
		t.Fatalf("%v, expected cancelled", err)
	}
	got, err := c.decode(ctx, latentFile(t, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
		t.Errorf("%d frames after a cancelled job, other than before it", len(got))
	}
}

// TestStall: a page that keeps the device waiting loses it once another wants
// it, and not before.
func TestStall(t *testing.T) {
	needDevice(t)
	s := start(t, Options{Stall: 500 * time.Millisecond})
	ctx := within(t, time.Minute)
	slow := enter(t, s)
	if err := slow.open(ctx); err != nil {
		t.Fatal(err)
	}
	slow.mute = true
	request := map[string]any{"type": "decode", "source": map[string]any{"path": ""}, "options": map[string]any{"tile": "off"}}
	z := latentFile(t, 12, 1)
	request["source"] = slow.source("z.npy", z)
	id, err := slow.ask(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	pictures := 0
	for pictures < 4 { // of its window, which it doesn't acknowledge
		h, _, err := slow.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case h.Type == "read": // the latent: answered, so that the job begins
			err = slow.send(ctx, map[string]any{"type": "bytes", "id": id, "read": h.Read}, slow.files[h.Source-1][h.Offset:][:h.Length])
		case h.Seq > 0:
			pictures++
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	if n := s.engine.pages.Load(); n != 1 {
		t.Fatalf("%d pages: a page was sent away though nobody waited", n)
	}
	other := enter(t, s)
	if err := other.open(ctx); err != nil {
		t.Fatal(err)
	}
	if frames, err := other.decode(ctx, latentFile(t, 1, 1)); err != nil || len(frames) != 1 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	for err = nil; err == nil; {
		_, _, err = slow.next(ctx)
	}
	if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("the slow page was told %v", err)
	}
}

// TestTurns: first come, first served; who gives up waiting holds nothing back.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q turns
		if err := q.take(t.Context(), func(int) { t.Error("waits") }); err != nil {
			t.Fatal(err)
		}
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
				err := q.take(ctx, func(n int) { positions[i] = append(positions[i], n) })
				if i == 1 {
					if err != gone {
						t.Errorf("got %v, expected the cause", err)
					}
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
		if got := fmt.Sprint(order); got != "[0 2 3]" {
			t.Errorf("served in order %s", got)
		}
		if got := fmt.Sprint(positions[3]); got != "[4 3 2 1]" {
			t.Errorf("the last was told %s", got)
		}
		if q.taken {
			t.Error("still taken")
		}
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
			if q.take(ctx, func(int) {}) != nil {
				return
			}
			inside++
			if inside != 1 {
				t.Error("two at once")
			}
			time.Sleep(time.Millisecond)
			inside--
			q.done()
		})
	}
	all.Wait()
	if q.taken || q.wanted() {
		t.Error("a turn was lost")
	}
}
