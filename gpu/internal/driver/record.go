package driver

import "encoding/binary"

// Span is when a command ran, in nanoseconds of the device's clock, which
// starts anywhere.
type Span struct{ Begin, End uint64 }

// MaxTimed is how many commands a stopwatch takes: WebGPU has 4096 queries in
// a set at most, and a command needs two.
const MaxTimed = 2048

// The bytes of a span as queries are resolved.
const SpanBytes = 16

// Spans reads resolved queries.
func Spans(raw []byte) []Span {
	spans := make([]Span, len(raw)/SpanBytes)
	for i := range spans {
		at := raw[SpanBytes*i:]
		spans[i] = Span{binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])}
	}
	return spans
}

// NoQuery is the number of no query.
const NoQuery = -1

// Encoder is a driver's command encoder.
type Encoder interface {
	// BeginPass begins a compute pass whose begin and end go to these queries.
	BeginPass(begin, end int)
	// EndPass ends it.
	EndPass()
	// Dispatch records the i-th command, which is a dispatch, in a pass.
	Dispatch(i int, c *Command)
	// Move records a copy or a clear, outside of passes.
	Move(c *Command)
}

// Record records commands in order. Consecutive dispatches share a compute
// pass; WebGPU orders them by the buffers they write.
//
// Of timed ones, each dispatch has a pass of its own. Only passes have times,
// so a copy or clear is between two empty ones: their ends are taken, since a
// pass may begin before what is ahead of it is done. Command i has the queries
// 2i and 2i+1.
func Record(e Encoder, commands []Command, timed bool) {
	open := false
	end := func() {
		if open {
			e.EndPass()
			open = false
		}
	}
	empty := func(query int) {
		e.BeginPass(NoQuery, query)
		e.EndPass()
	}
	for i := range commands {
		c := &commands[i]
		switch {
		case c.Pipeline == nil && timed:
			empty(2 * i)
			e.Move(c)
			empty(2*i + 1)
		case c.Pipeline == nil:
			end()
			e.Move(c)
		case timed:
			e.BeginPass(2*i, 2*i+1)
			e.Dispatch(i, c)
			e.EndPass()
		default:
			if !open {
				e.BeginPass(NoQuery, NoQuery)
				open = true
			}
			e.Dispatch(i, c)
		}
	}
	end()
}
