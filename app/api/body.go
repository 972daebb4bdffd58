package api

import (
	"net/http"
	"time"
)

// receive takes a body of so many bytes. How long that may take is bounded: who
// sends slowly has a place, not the device.
func (a *API) receive(w http.ResponseWriter, r *http.Request, size int64) (*spool, error) {
	if size > a.o.Body {
		return nil, tooLarge("a body of %d bytes, expected at most %d", size, a.o.Body)
	}
	if r.ContentLength >= 0 && r.ContentLength != size {
		return nil, bad("the body has %d bytes, expected %d", r.ContentLength, size)
	}
	s, err := a.disk.spool(size)
	if err != nil {
		return nil, err
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(a.patience(size)) // not of a test's recorder
	if err := s.fill(http.MaxBytesReader(w, r.Body, size+1)); err != nil {
		s.Close()
		return nil, sender(err)
	}
	// While a request waits its connection is read for its end, which no deadline
	// may be mistaken for.
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
	return s, nil
}

// send gives out an answer of bytes, in so much time.
func (a *API) send(w http.ResponseWriter, header map[string]string, s *spool) error {
	_ = http.NewResponseController(w).SetWriteDeadline(a.patience(s.size))
	return reply(w, header, s)
}
