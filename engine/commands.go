package engine

import (
	"slices"

	"tessera/gpu"
)

// A list of manyCommands grows in steps of moreCommands, so that planning can be interrupted
// in between.
const (
	manyCommands = 1 << 16
	moreCommands = 1 << 14
)

// growCommands makes room for more commands. A slice of a hundred thousand frames has
// gigabytes of commands, and append would copy them for seconds without being
// interruptible.
func (e *emitter) growCommands() {
	all := e.batch.Commands
	if len(all) < manyCommands || cap(all)-len(all) >= moreCommands {
		return
	}
	more := make([]gpu.Command, 0, len(all)+max(len(all)/4, 2*moreCommands)) // make clears it at once
	for some := range slices.Chunk(all, moreCommands) {
		if e.stopped() {
			return
		}
		more = append(more, some...)
	}
	e.batch.Commands = more
}
