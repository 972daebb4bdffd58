package engine

import (
	"slices"

	"tessera/gpu"
)

// A list of so many commands is copied bit by bit when it grows, while there is room for
// those that follow until somebody asks whether to go on.
const (
	manyCommands = 1 << 16
	moreCommands = 1 << 14
)

// roomy has room for more commands. Of a slice of a hundred thousand frames they are
// gigabytes: append would copy them for seconds, in which nobody could interrupt.
func (e *emitter) roomy() {
	all := e.batch.Commands
	if len(all) < manyCommands || cap(all)-len(all) >= moreCommands {
		return
	}
	more := make([]gpu.Command, 0, len(all)+max(len(all)/4, 2*moreCommands)) // which is cleared at once
	for some := range slices.Chunk(all, moreCommands) {
		if e.stopped() {
			return
		}
		more = append(more, some...)
	}
	e.batch.Commands = more
}
