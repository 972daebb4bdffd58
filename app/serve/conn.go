package serve

import (
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
	// maxHeader limits a message's JSON: options and a file's name.
	maxHeader = 16 << 10

	writeWait = 30 * time.Second // time for a page to accept a message
	pingEvery = 15 * time.Second
	pingWait  = 10 * time.Second
)

// conn is a page's websocket. It carries messages in web/protocol.js's frames: the u32
// length of the header, the header, the payload.
type conn struct {
	ws   *websocket.Conn
	ctx  context.Context
	stop context.CancelCauseFunc
	page *session.Session

	mu    sync.Mutex
	begun bool      // it has sent a message
	heard time.Time // time of its last message, or of the connection
}

var _ session.Conn = (*conn)(nil)

// Send writes a message; it blocks while the page is slow to accept it.
func (c *conn) Send(header, payload []byte) error {
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

// receive passes the page's messages to its session until one side ends the connection.
func (c *conn) receive() error {
	for {
		kind, r, err := c.ws.Reader(c.ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			return errors.New("serve: a text message, expected binary ones")
		}
		header, payload, err := c.unframe(r)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.begun, c.heard = true, time.Now()
		c.mu.Unlock()
		if err := c.page.Receive(header, payload); err != nil {
			return err
		}
	}
}

// unframe splits a message. It keeps at most one byte more of the payload than the page
// may send, which shows that there was more, and discards the rest.
func (c *conn) unframe(r io.Reader) (header, payload []byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, nil, fmt.Errorf("serve: message: %w", err)
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxHeader {
		return nil, nil, fmt.Errorf("serve: a header of %d bytes, expected at most %d", n, maxHeader)
	}
	header = make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("serve: message: %w", err)
	}
	payload = make([]byte, c.page.Room(header)+1)
	got, err := io.ReadFull(r, payload)
	if err == io.EOF || err == io.ErrUnexpectedEOF { // of the message
		return header, payload[:got], nil
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("serve: message: %w", err)
	}
	return header, payload, nil
}

// quiet returns how long the page has sent nothing, and whether it ever sent a message.
func (c *conn) quiet() (since time.Duration, begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.heard), c.begun
}

// end closes the connection and tells the page why, if that takes little time.
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

// reason shortens an error's text to fit a close frame.
func reason(err error) string {
	text := err.Error()
	return text[:min(len(text), 120)]
}

// watch ends the connection if the page has silently gone, never sends a message, or
// holds up others that wait.
func (c *conn) watch(e *engine, o Options) {
	ping, look := time.NewTicker(pingEvery), time.NewTicker(min(o.Stall/4, o.Idle/4, time.Second))
	defer ping.Stop()
	defer look.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-look.C:
			if since, begun := c.quiet(); !begun && since > o.Idle {
				c.end(websocket.StatusPolicyViolation, fmt.Errorf("serve: the page sent nothing for %v", o.Idle))
			}
			if (e.turns.wanted() || e.headers.wanted()) && c.page.Waiting() > o.Stall {
				c.end(websocket.StatusPolicyViolation, fmt.Errorf("serve: the page did not answer for %v while others wait", o.Stall))
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
