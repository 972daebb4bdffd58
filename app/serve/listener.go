package serve

import (
	"net"
	"sync"
)

// shared is a listener that closes further connections of an address that has its share.
type shared struct {
	net.Listener
	share int

	mu sync.Mutex
	of map[string]int // by address
}

func newShared(l net.Listener, share int) *shared {
	return &shared{Listener: l, share: share, of: map[string]int{}}
}

// Accept waits for a connection.
func (s *shared) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := addressOf(c.RemoteAddr())
		if s.enter(address) {
			return &counted{Conn: c, leave: sync.OnceFunc(func() { s.left(address) })}, nil
		}
		c.Close()
	}
}

// enter counts a connection, unless its address has its share.
func (s *shared) enter(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[address] >= s.share {
		return false
	}
	s.of[address]++
	return true
}

func (s *shared) left(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[address]--; s.of[address] == 0 {
		delete(s.of, address)
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// addressOf returns an address without its port.
func addressOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
