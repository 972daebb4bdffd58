package driver

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// tape is a Port that logs its calls.
type tape struct {
	calls []string
	fails error
}

func (p *tape) note(format string, args ...any) {
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
}

func (p *tape) take() []string {
	calls := p.calls
	p.calls = nil
	return calls
}

func (p *tape) Release() { p.note("release") }

func (p *tape) Put(_ Buffer, offset int64, data []byte) error {
	p.note("put %d at %d", len(data), offset)
	return p.fails
}

func (p *tape) Drain() error {
	p.note("drain")
	return p.fails
}

func (p *tape) NewReadback(size int64) (Buffer, error) {
	p.note("make %d", size)
	return p, nil
}

func (p *tape) Fetch(_ context.Context, dst []byte, _, _ Buffer, offset int64) error {
	p.note("fetch %d at %d", len(dst), offset)
	return p.fails
}

// Writes come in pieces, and wait before more than MostUnsent is pending.
func TestStagingWrites(t *testing.T) {
	const most = MostUnsent
	p := &tape{}
	s := NewStaging(p, Chunks{Put: most / 2, Fetch: 1}, 1<<40)
	require.NoError(t, s.Write(p, 8, make([]byte, most+12)))
	require.Equal(t, []string{
		fmt.Sprintf("put %d at 8", most/2), fmt.Sprintf("put %d at %d", most/2, 8+most/2),
		"drain", fmt.Sprintf("put 12 at %d", 8+most),
	}, p.take())
	require.NoError(t, s.Write(p, 0, make([]byte, most/2)))
	s.Submitted()
	require.NoError(t, s.Write(p, 0, make([]byte, most)))
	require.NotContains(t, p.take(), "drain", "the queue had taken what was put")
	p.fails = errors.New("refused")
	require.ErrorIs(t, s.Write(p, 0, make([]byte, 4)), p.fails)
}

// Reads come in pieces through one buffer, which grows by powers of two up to the
// device's limit, and is not used again after a failure.
func TestStagingReads(t *testing.T) {
	ctx, p := context.Background(), &tape{}
	s := NewStaging(p, Chunks{Put: 1, Fetch: 100_000}, 120_000)
	require.NoError(t, s.Read(ctx, make([]byte, 4), p, 0))
	require.NoError(t, s.Read(ctx, make([]byte, 65536), p, 4))
	require.Equal(t, []string{"make 65536", "fetch 4 at 0", "fetch 65536 at 4"}, p.take())
	require.NoError(t, s.Read(ctx, make([]byte, 150_000), p, 8))
	require.Equal(t, []string{"release", "make 120000", "fetch 100000 at 8", "fetch 50000 at 100008"}, p.take())
	p.fails = errors.New("lost")
	require.ErrorIs(t, s.Read(ctx, make([]byte, 4), p, 0), p.fails)
	p.fails = nil
	require.NoError(t, s.Read(ctx, make([]byte, 4), p, 0))
	s.Drop()
	s.Drop()
	require.Equal(t, []string{"fetch 4 at 0", "release", "make 65536", "fetch 4 at 0", "release"}, p.take())
}

func TestChecks(t *testing.T) {
	l := Limits{MaxBuffer: 100}
	for _, size := range []int64{0, -4, 6} {
		require.ErrorContains(t, CheckSize(size, l), "multiple of 4")
	}
	require.ErrorIs(t, CheckSize(104, l), ErrTooLarge)
	require.NoError(t, CheckSize(100, l))
	for _, c := range []struct {
		offset int64
		n      int
	}{{-4, 4}, {2, 4}, {0, 6}, {96, 8}} {
		require.ErrorContains(t, CheckRange("write", c.offset, c.n, 100), fmt.Sprintf("write of %d bytes at %d", c.n, c.offset))
	}
	require.NoError(t, CheckRange("write", 96, 4, 100))
}

// player is an Encoder that logs what is recorded.
type player struct{ tape }

func (e *player) BeginPass(begin, end int)   { e.note("pass %d %d", begin, end) }
func (e *player) EndPass()                   { e.note("end") }
func (e *player) Dispatch(i int, _ *Command) { e.note("dispatch %d", i) }
func (e *player) Move(c *Command)            { e.note("move %d", c.Dst.Size) }

func TestRecord(t *testing.T) {
	e := &player{}
	dispatch := Command{Pipeline: e}
	commands := []Command{dispatch, dispatch, {Dst: Binding{Size: 4}}, {Dst: Binding{Size: 8}}, dispatch}
	Record(e, commands, false)
	require.Equal(t, []string{
		"pass -1 -1", "dispatch 0", "dispatch 1", "end", "move 4", "move 8", "pass -1 -1", "dispatch 4", "end",
	}, e.take())
	Record(e, commands[1:4], true)
	require.Equal(t, []string{
		"pass 0 1", "dispatch 0", "end",
		"pass -1 2", "end", "move 4", "pass -1 3", "end",
		"pass -1 4", "end", "move 8", "pass -1 5", "end",
	}, e.take())
}
