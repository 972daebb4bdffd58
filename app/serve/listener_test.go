package serve

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An address gets at most its share of connections, another address gets what is left,
// and a closed connection makes room.
func TestSharedListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newShared(l, 2)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	var held []net.Conn
	for range 2 {
		dial("127.0.0.1")
		held = append(held, <-accepted)
	}
	over := dial("127.0.0.1")
	_, err = over.Read(make([]byte, 1))
	require.Error(t, err, "the third connection is closed")
	other := dial("127.0.0.2")
	c := <-accepted
	assert.Equal(t, addressOf(other.LocalAddr()), addressOf(c.RemoteAddr()))
	require.NoError(t, held[0].Close())
	held[0].Close()
	dial("127.0.0.1")
	(<-accepted).Close()
	require.NoError(t, l.Close())
	<-accepted
	c.Close()
	held[1].Close()
	assert.Empty(t, s.of)
}
