//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
)

// acts are what clients do; r belongs to the act.
var acts = map[string]func(l *load, from byte, r *rand.Rand){
	"good":                  (*load).beGood,
	"input in parts":        (*load).sendParts,
	"removed at any moment": (*load).remove,
	"cut short":             (*load).cutShort,
	"garbage in chunks":     (*load).garbage,
	"half-closed":           (*load).halfClose,
	"silent":                (*load).silent,
	"too large":             (*load).claim,
	"unread events":         (*load).unread,
	"unread content":        (*load).unreadContent,
	"no latent":             (*load).nonsense,
	"malformed":             (*load).malformed,
}

// beGood sends a request and compares the answer.
func (l *load) beGood(from byte, r *rand.Rand) {
	g := l.good[r.IntN(len(l.good))]
	if !g.isJob() {
		status, got := l.ask(from, "POST", g.path, g.body)
		assert.Equal(l.t, 200, status, "%s: %.300s", g.path, got)
		assert.True(l.t, bytes.Equal(g.want, got), "%s: another answer than that of the single request", g.path)
		return
	}
	s, status := l.job(from, "POST", g.path, g.body)
	if assert.Equal(l.t, 201, status, s.Error) {
		l.finish(from, s.ID, g)
	}
}

// finish waits for a good job and downloads its content.
func (l *load) finish(from byte, id string, g *good) {
	s := l.ended(from, id)
	if !assert.Equal(l.t, "done", s.State, "%s: %s", g.path, s.Error) {
		return
	}
	l.mu.Lock()
	l.kept[id] = g
	l.mu.Unlock()
	status, got := l.ask(from, "GET", "/v1/jobs/"+id+"/content", nil)
	assert.Equal(l.t, 200, status)
	assert.True(l.t, bytes.Equal(g.want, got), "%s: another content than that of the single job", g.path)
}

// sendParts sends a job's input in parts that break off, and continues.
func (l *load) sendParts(from byte, r *rand.Rand) {
	var g *good
	for g = l.good[0]; !g.isJob(); g = l.good[r.IntN(len(l.good))] {
	}
	size := len(g.body)
	s, status := l.job(from, "POST", fmt.Sprintf("%s&size=%d", g.path, size), nil)
	if !assert.Equal(l.t, 201, status, s.Error) {
		return
	}
	path := "/v1/jobs/" + s.ID + "/input"
	for at, most := 0, 0; at < size; {
		end := at + 1 + r.IntN(size-at)
		header := []string{"Content-Range", fmt.Sprintf("bytes %d-%d/%d", at, end-1, size)}
		if cut := at + r.IntN(end-at); r.IntN(2) == 0 {
			c, err := l.begin(from, "PATCH", path, int64(end-at), g.body[at:cut], header...)
			if assert.NoError(l.t, err) {
				c.Close()
			}
			most = max(most, cut) // an earlier part may still be arriving
			if s, status = l.job(from, "GET", "/v1/jobs/"+s.ID, nil); !assert.Equal(l.t, 200, status) {
				return
			}
			assert.LessOrEqual(l.t, s.Received, int64(most), "more than was sent")
			assert.GreaterOrEqual(l.t, s.Received, int64(at), "what was received is gone")
			at = int(s.Received)
			continue
		}
		now, status := l.job(from, "PATCH", path, g.body[at:end], header...)
		most = max(most, end)
		if status == http.StatusConflict { // the aborted part is still open, or left more bytes
			if s, status = l.job(from, "GET", "/v1/jobs/"+s.ID, nil); !assert.Equal(l.t, 200, status) {
				return
			}
			at = int(s.Received)
			continue
		}
		if !assert.Equal(l.t, 200, status, now.Error) {
			return
		}
		at = end
	}
	l.finish(from, s.ID, g)
}

// remove cancels a job at a random moment, and usually deletes its record.
func (l *load) remove(from byte, r *rand.Rand) {
	frames := 1 + r.IntN(20)
	s, status := l.job(from, "POST", fmt.Sprintf("/v1/jobs?output=u8&dtype=float32&shape=1,4,%d,2,2", frames), numbers(7, 4*frames*4))
	if !assert.Equal(l.t, 201, status, s.Error) {
		return
	}
	time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
	for is, begun := s, r.IntN(2) == 0; begun && !is.over() && is.Bytes == 0; { // until it runs, or is over
		if is, status = l.job(from, "GET", "/v1/jobs/"+s.ID, nil); !assert.Equal(l.t, 200, status) {
			return
		}
	}
	for status = 200; status == 200; time.Sleep(10 * time.Millisecond) {
		now, gone := l.job(from, "DELETE", "/v1/jobs/"+s.ID, nil)
		if status = gone; status == 200 {
			l.count("removed while " + map[bool]string{true: "it ran or waited", false: "it ended"}[now.State == "cancelled"])
			l.ended(from, s.ID)
		}
		if now.State == "cancelled" && r.IntN(2) == 0 {
			return // the record of a cancelled job stays
		}
	}
	assert.Equal(l.t, http.StatusNoContent, status)
	status, _ = l.ask(from, "GET", "/v1/jobs/"+s.ID+"/content", nil)
	assert.Equal(l.t, http.StatusNotFound, status)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = append(l.gone, s.ID)
}

// cutShort disconnects in the middle of a body.
func (l *load) cutShort(from byte, r *rand.Rand) {
	g := l.good[r.IntN(len(l.good))]
	c, err := l.begin(from, "POST", g.path, int64(len(g.body)), g.body[:r.IntN(len(g.body))])
	if assert.NoError(l.t, err) {
		assert.NoError(l.t, c.Close())
	}
}

// garbage sends invalid chunks.
func (l *load) garbage(from byte, r *rand.Rand) {
	g := l.good[r.IntN(len(l.good))]
	chunks := []string{
		"zz\r\n", "-5\r\nhello\r\n", "5\r\nhel", "ffffffffffffffffff\r\n", "5\r\nhelloX", "\r\n\r\n", "5;" + strings.Repeat("x", 1<<13) + "\r\nhello\r\n",
		"1\r\nx\r\n0\r\n\r\n",
	}
	c, err := l.begin(from, "POST", g.path, -1, []byte(chunks[r.IntN(len(chunks))]), "Transfer-Encoding", "chunked")
	if !assert.NoError(l.t, err) {
		return
	}
	defer c.Close()
	_ = c.CloseWrite() // the server may have hung up
	is, text := statusOf(c)
	assert.Contains(l.t, []int{400, 411, 429, 499}, is, "%s", text)
	l.answer("POST", g.path, is)
}

// halfClose closes its side before the answer arrives.
func (l *load) halfClose(from byte, r *rand.Rand) {
	g := l.good[r.IntN(len(l.good))]
	c, err := l.begin(from, "POST", g.path, int64(len(g.body)), g.body)
	if !assert.NoError(l.t, err) {
		return
	}
	defer c.Close()
	assert.NoError(l.t, c.CloseWrite())
	is, text := statusOf(c)
	l.answer("POST", g.path, is)
	l.count(fmt.Sprintf("half-closed: %d", is))
	switch {
	case g.isJob() && is == 201:
		var s jobState
		if assert.NoError(l.t, json.Unmarshal(text, &s), "%s", text) {
			l.finish(from, s.ID, g)
		}
	case is == 200:
		assert.True(l.t, bytes.Equal(g.want, text), "%s: another answer than that of the single request", g.path)
	default:
		assert.Contains(l.t, []int{429, 499}, is, "%s", text)
	}
}

// silent stops sending at any point.
func (l *load) silent(from byte, r *rand.Rand) {
	g := l.good[r.IntN(len(l.good))]
	switch r.IntN(3) {
	case 0:
		c, err := l.dial(from)
		if assert.NoError(l.t, err) {
			l.hold(c)
		}
	case 1:
		c, err := l.dial(from)
		if assert.NoError(l.t, err) {
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nConte", g.path, l.s.address)
			l.hold(c)
		}
	case 2:
		c, err := l.begin(from, "POST", g.path, int64(len(g.body)), g.body[:r.IntN(len(g.body))])
		if assert.NoError(l.t, err) {
			l.hold(c)
		}
	}
}

// claim announces more bytes than the server has room for.
func (l *load) claim(from byte, r *rand.Rand) {
	const ten = 10_000_000_000
	claims := []struct {
		path string
		size int64
	}{
		{"/v1/jobs?input=npy", ten}, {fmt.Sprintf("/v1/jobs?input=npy&size=%d", ten), 0}, {"/v1/jobs?kind=encode&input=mp4", math.MaxInt64},
		{"/v1/encode", ten}, {"/v1/decode?dtype=float32&shape=1,4,100000,1000,1000", ten}, {"/v1/decode?dtype=float32&shape=1,4,1,131072,131072", 4},
		{"/v1/encode?dtype=uint8&shape=1,3,131072,16384,16384", -1}, {"/v1/jobs?dtype=float32&shape=1,4,131072,131072,131072", 4},
		{"/v1/jobs?kind=encode&dtype=float32&shape=1,3,131072,16384,16384", -1},
	}
	k := claims[r.IntN(len(claims))]
	c, err := l.begin(from, "POST", k.path, k.size, nil)
	if !assert.NoError(l.t, err) {
		return
	}
	defer c.Close()
	assert.NoError(l.t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	if k.size < 0 {
		assert.NoError(l.t, c.CloseWrite())
	}
	is, text := statusOf(c)
	assert.Contains(l.t, []int{400, 411, 413, 429, 507}, is, "%s: %s", k.path, text)
	l.answer("POST", k.path, is)
}

// unread requests the events of an upload that sends nothing, and reads none.
func (l *load) unread(from byte, r *rand.Rand) {
	s, is := l.job(from, "POST", fmt.Sprintf("/v1/jobs?input=npy&size=%d", 1+r.IntN(1000)), nil)
	if !assert.Equal(l.t, 201, is, s.Error) {
		return
	}
	c, err := l.begin(from, "GET", "/v1/jobs/"+s.ID+"/events", -1, nil)
	if assert.NoError(l.t, err) {
		l.hold(c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uploads = append(l.uploads, s.ID)
}

// unreadContent requests frames while they are computed, and reads none.
func (l *load) unreadContent(from byte, r *rand.Rand) {
	var g *good
	for g = l.good[0]; !g.isJob(); g = l.good[r.IntN(len(l.good))] {
	}
	s, is := l.job(from, "POST", g.path, g.body)
	if !assert.Equal(l.t, 201, is, s.Error) {
		return
	}
	c, err := l.begin(from, "GET", "/v1/jobs/"+s.ID+"/content", -1, nil)
	if assert.NoError(l.t, err) {
		l.hold(c)
	}
	l.finish(from, s.ID, g)
}

// nonsense sends a job bytes that are not its input.
func (l *load) nonsense(from byte, r *rand.Rand) {
	input := []string{"safetensors", "latent", "npy", "npz", "pt", "pth"}[r.IntN(6)]
	s, is := l.job(from, "POST", "/v1/jobs?output=u8&input="+input, numbers(r.Uint64(), 1+r.IntN(200)))
	if !assert.Equal(l.t, 201, is, s.Error) {
		return
	}
	s = l.ended(from, s.ID)
	assert.Equal(l.t, "failed", s.State, input)
	assert.Equal(l.t, "bad_input", s.Code, s.Error)
	assert.Regexp(l.t, `^input\.`+input+": ", s.Error)
}

// malformed sends bytes that are not a request.
func (l *load) malformed(from byte, r *rand.Rand) {
	junk := make([]byte, 1+r.IntN(300))
	for i := range junk {
		junk[i] = byte(1 + r.IntN(255))
	}
	text := fmt.Sprintf([]string{"%s\r\n\r\n", "GET /%s HTTP/1.1\r\n\r\n", "POST /v1/decode HTTP/9.9\r\n%s\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n%s"}[r.IntN(4)], junk)
	c, err := l.dial(from)
	if !assert.NoError(l.t, err) {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, text) // the server may refuse before all is sent
	_ = c.CloseWrite()
	if is, answer := statusOf(c); is != 0 {
		assert.Contains(l.t, []int{400, 404, 405, 431, 505}, is, "%q: %s", text, answer)
	}
}
