//go:build !js

package gpu

import (
	"context"
	"fmt"
	"os"

	"tessera/gpu/internal/kept"
)

// keepMost bounds the bytes that Keep keeps of all adapters.
const keepMost = 1 << 20

// Keep keeps what was found out about an adapter in the user's cache folder,
// where there is one, by what it is about.
func Keep(a Info, about string, value []byte) {
	kept.Open("adapters", keepMost).Put(keyOf(a, about), value)
}

// Recall is what Keep kept: nil where nothing was, where it was damaged, and for
// another adapter, driver or library.
func Recall(a Info, about string) []byte {
	return kept.Open("adapters", keepMost).Get(keyOf(a, about))
}

// Hold takes what was found out about adapters for this process, for comparing a kernel
// that may take the process down, and waits while another one has it, until ctx ends.
// What it returns gives that back.
func Hold(ctx context.Context) (release func(), err error) {
	return kept.Open("adapters", keepMost).Hold(ctx)
}

// keyOf is of all that could change what an adapter computes, and how fast.
func keyOf(a Info, about string) []byte {
	key := fmt.Sprintln(a.Name, a.Driver, a.Backend, a.Library, about)
	if library, err := os.Stat(a.Library); err == nil {
		key += fmt.Sprintln(library.Size(), library.ModTime())
	}
	return []byte(key)
}

// Untried says that adapters are taken at their word, by TESSERA_UNTRIED=1: on a
// card that is only pretended, to see what its compiler makes of shaders, all
// that is computed is wrong.
func Untried() bool { return os.Getenv("TESSERA_UNTRIED") == "1" }
