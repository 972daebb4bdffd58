package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"tessera/app/session"
)

const (
	// maxHeader bounds a message's JSON.
	maxHeader = 1 << 20

	writeWait = 30 * time.Second // for a message to be taken by a page
	pingEvery = 15 * time.Second
	pingWait  = 10 * time.Second
)

// conn is a page's websocket. It carries messages as web/protocol.js frames
// them: u32 length of the header, the header, the payload.
type conn struct {
	ws   *websocket.Conn
	ctx  context.Context
	stop context.CancelCauseFunc

	mu    sync.Mutex
	held  bool      // the session has the device
	owing bool      // the page has something to answer
	heard time.Time // when it last sent something, or got something to answer
}

var _ session.Conn = (*conn)(nil)

func newConn(ctx context.Context, ws *websocket.Conn, maxMessage int64) *conn {
	c := &conn{ws: ws, heard: time.Now()}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	ws.SetReadLimit(maxMessage)
	return c
}

// Send writes a message; it waits while the page is slow to take it.
func (c *conn) Send(header, payload []byte) error {
	if asks(header) {
		c.mu.Lock()
		if !c.owing {
			c.owing, c.heard = true, time.Now()
		}
		c.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(c.ctx, writeWait)
	defer cancel()
	err := c.write(ctx, header, payload)
	if err != nil {
		c.stop(err)
	}
	return err
}

func (c *conn) write(ctx context.Context, header, payload []byte) error {
	w, err := c.ws.Writer(ctx, websocket.MessageBinary)
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(header)), uint32(len(header)))
	if _, err := w.Write(append(head, header...)); err != nil {
		return err
	}
	if _, err := w.Write(payload); err != nil {
		return err
	}
	return w.Close()
}

// asks says whether a message wants an answer of the page: bytes, or the
// acknowledgement of a picture.
func asks(header []byte) bool {
	for _, kind := range []string{"read", "pixels", "tile", "frame"} {
		if bytes.HasPrefix(header, []byte(`{"type":"`+kind+`"`)) {
			return true
		}
	}
	return false
}

// receive hands the page's messages to the session until one side ends it.
func (c *conn) receive(s *session.Session) error {
	for {
		kind, r, err := c.ws.Reader(c.ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			return errors.New("serve: a text message, expected binary ones")
		}
		header, payload, err := unframe(r)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.owing, c.heard = false, time.Now()
		c.mu.Unlock()
		if err := s.Receive(header, payload); err != nil {
			return err
		}
	}
}

// unframe takes a message apart.
func unframe(r io.Reader) (header, payload []byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, nil, fmt.Errorf("serve: message: %w", err)
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxHeader {
		return nil, nil, fmt.Errorf("serve: a header of %d bytes, at most %d are taken", n, maxHeader)
	}
	header = make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("serve: message: %w", err)
	}
	if payload, err = io.ReadAll(r); err != nil {
		return nil, nil, fmt.Errorf("serve: message: %w", err)
	}
	return header, payload, nil
}

// holds notes whether the session has the device.
func (c *conn) holds(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held, c.heard = held, time.Now()
}

// stalled says whether the page keeps the device waiting for an answer for
// longer than limit.
func (c *conn) stalled(limit time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held && c.owing && time.Since(c.heard) > limit
}

// end tells the page why the connection ends, if it can be told soon, and ends
// it.
func (c *conn) end(status websocket.StatusCode, why error) {
	told := make(chan struct{})
	go func() {
		defer close(told)
		c.ws.Close(status, reason(why))
	}()
	select {
	case <-told:
	case <-time.After(time.Second):
	}
	c.stop(why)
}

// reason is an error's text as far as it fits into a close frame.
func reason(err error) string {
	text := err.Error()
	return text[:min(len(text), 120)]
}

// watch ends the connection when the page is gone without a word, or holds up
// others that wait.
func (c *conn) watch(e *engine, stall time.Duration) {
	ping, look := time.NewTicker(pingEvery), time.NewTicker(min(stall/4, time.Second))
	defer ping.Stop()
	defer look.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-look.C:
			if e.turns.wanted() && c.stalled(stall) {
				c.end(websocket.StatusPolicyViolation, fmt.Errorf("serve: the page gave no answer for %v while others wait", stall))
			}
		case <-ping.C:
			ctx, cancel := context.WithTimeout(c.ctx, pingWait)
			if err := c.ws.Ping(ctx); err != nil {
				c.stop(err)
			}
			cancel()
		}
	}
}
