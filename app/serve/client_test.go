package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
)

const checkpoint = "../../assets/tiny-seedvr2.safetensors"

// start serves a page of one line until the test ends.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Page = fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html><title>page</title>")},
		"app.js":     {Data: []byte("export {};")},
		"x.wasm":     {Data: []byte("\x00asm")},
		"x.webp":     {Data: []byte("RIFF")},
		"x.jpg":      {Data: []byte("\xff\xd8")},
		"sw.js":      {Data: []byte("self")},
		"sub/a.mjs":  {Data: []byte("export {};")},
	}
	o.Device = gpu.Options{Adapter: -1}
	o.Log = func(line string) { t.Log(line) }
	s, err := New("127.0.0.1:0", o)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		assert.NoError(t, errors.Join(s.Close(), <-served))
	})
	return s
}

// needDevice skips a test if there is no device.
func needDevice(t *testing.T) {
	t.Helper()
	require.NoError(t, gputest.Open(t).Close())
}

// client is a page without a browser: it answers reads from files and acknowledges
// pictures at once.
type client struct {
	ws    *websocket.Conn
	files [][]byte // sources, from number 1
	id    int
	mute  bool // does not answer
}

type header struct {
	Type     string          `json:"type"`
	ID       int             `json:"id"`
	Value    json.RawMessage `json:"value"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Read     int             `json:"read"`
	Source   int             `json:"source"`
	Offset   int64           `json:"offset"`
	Length   int             `json:"length"`
	Seq      int             `json:"seq"`
	Index    int             `json:"index"`
	Position int             `json:"position"`
}

// failed is an error of the engine.
type failed struct{ code, message string }

func (f failed) Error() string { return f.code + ": " + f.message }

// dial opens a page's websocket as its script does.
func dial(ctx context.Context, s *Server, token, origin string) (*client, *http.Response, error) {
	o := &websocket.DialOptions{HTTPHeader: http.Header{}}
	if origin != "" {
		o.HTTPHeader.Set("Origin", origin)
	}
	ws, response, err := websocket.Dial(ctx, "ws://"+s.listen.Addr().String()+"/engine?token="+token, o)
	if err != nil {
		return nil, response, err
	}
	ws.SetReadLimit(64 << 20)
	return &client{ws: ws}, response, nil
}

// enter is dial with the token.
func enter(t *testing.T, s *Server) *client {
	t.Helper()
	c, _, err := dial(t.Context(), s, s.access.token, "http://"+s.listen.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { c.ws.CloseNow() })
	return c
}

func (c *client) send(ctx context.Context, head any, payload []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	return c.ws.Write(ctx, websocket.MessageBinary, append(append(b, text...), payload...))
}

// next returns the engine's next message after answering reads and pictures.
func (c *client) next(ctx context.Context) (header, []byte, error) {
	var h header
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return h, nil, err
	}
	n := binary.LittleEndian.Uint32(data)
	if err := json.Unmarshal(data[4:4+n], &h); err != nil {
		return h, nil, err
	}
	switch {
	case c.mute:
	case h.Type == "read":
		file := c.files[h.Source-1]
		err = c.send(ctx, map[string]any{"type": "bytes", "id": h.ID, "read": h.Read}, file[h.Offset:][:h.Length])
	case h.Seq > 0:
		err = c.send(ctx, map[string]any{"type": "ack", "id": h.ID, "seq": h.Seq}, nil)
	}
	return h, data[4+n:], err
}

// ask sends a request and returns its id.
func (c *client) ask(ctx context.Context, request map[string]any) (int, error) {
	c.id++
	request["id"] = c.id
	return c.id, c.send(ctx, request, nil)
}

// request is ask and waits for the answer; see, if not nil, receives the events.
func (c *client) request(ctx context.Context, request map[string]any, see func(header, []byte)) (json.RawMessage, error) {
	id, err := c.ask(ctx, request)
	for err == nil {
		var h header
		var payload []byte
		h, payload, err = c.next(ctx)
		switch {
		case err != nil || h.ID != id:
		case h.Type == "result":
			return h.Value, nil
		case h.Type == "error":
			return nil, failed{h.Code, h.Message}
		case see != nil:
			see(h, payload)
		}
	}
	return nil, err
}

// source adds a file that the engine may read.
func (c *client) source(name string, data []byte) map[string]any {
	c.files = append(c.files, data)
	return map[string]any{"id": len(c.files), "name": name, "size": len(data)}
}

// open opens the small checkpoint.
func (c *client) open(ctx context.Context) error {
	data, err := os.ReadFile(checkpoint)
	if err != nil {
		return err
	}
	_, err = c.request(ctx, map[string]any{"type": "open", "source": c.source("tiny.safetensors", data), "precision": "f32"}, nil)
	return err
}

// decode decodes a latent of zeros and returns the frames.
func (c *client) decode(ctx context.Context, latent []byte) ([][]byte, error) {
	var frames [][]byte
	request := map[string]any{"type": "decode", "source": c.source("z.npy", latent), "options": map[string]any{"tile": "off", "overlap": "0"}}
	_, err := c.request(ctx, request, func(h header, payload []byte) {
		if h.Type == "frame" {
			frames = append(frames, bytes.Clone(payload))
		}
	})
	return frames, err
}

// latentFile returns the file of a small latent: a ramp of frames x side x side cells.
func latentFile(t *testing.T, frames, side int) []byte {
	t.Helper()
	l := latent.Latent{Channels: 16, Frames: frames, Height: side, Width: side, Data: make([]float32, 16*frames*side*side)}
	for i := range l.Data {
		l.Data[i] = float32(i%37)/18 - 1
	}
	path := filepath.Join(t.TempDir(), "z.npy")
	require.NoError(t, media.WriteLatent(path, l))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// within returns a context that ends a hanging test.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeoutCause(t.Context(), limit, fmt.Errorf("not within %v", limit))
	t.Cleanup(stop)
	return ctx
}
