package driver

import "encoding/binary"

// Span is when a command ran, in nanoseconds of the device's clock, whose zero is
// arbitrary.
type Span struct{ Begin, End uint64 }

// MaxTimed is the largest number of commands that a stopwatch takes: a WebGPU query set
// has at most 4096 queries, and a command needs two.
const MaxTimed = 2048

// SpanBytes is the size of a span in a buffer of resolved queries.
const SpanBytes = 16

// Spans decodes resolved queries.
func Spans(raw []byte) []Span {
	spans := make([]Span, len(raw)/SpanBytes)
	for i := range spans {
		at := raw[SpanBytes*i:]
		spans[i] = Span{binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])}
	}
	return spans
}

// NoQuery stands for the absence of a query.
const NoQuery = -1

// Encoder is a driver's command encoder.
type Encoder interface {
	// BeginPass begins a compute pass that writes its begin and end to these queries.
	BeginPass(begin, end int)
	// EndPass ends it.
	EndPass()
	// Dispatch records command i, a dispatch, in the open pass.
	Dispatch(i int, c *Command)
	// Move records a copy or a clear, outside of passes.
	Move(c *Command)
}

// Record records commands in order. Consecutive dispatches share a compute pass; WebGPU
// orders them by the buffers they write.
//
// If the commands are timed, each dispatch has a separate pass. Only passes have times,
// so a copy or clear goes between two empty passes. Record takes the ends of these,
// because a pass may begin before the work ahead of it is done. Command i has queries
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
