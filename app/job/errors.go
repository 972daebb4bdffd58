package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// Exit codes of the program. A second run may succeed after ExitFailed or
// ExitInterrupted; after ExitDevice on another machine; after ExitMemory with more memory
// or smaller tiles; after the others never.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInput       = 3
	ExitDevice      = 4
	ExitMemory      = 5
	ExitInterrupted = 130
)

// Kind is a category of errors.
type Kind struct {
	Code string // for the page and the server; web/protocol.js lists the codes, web/strings has their texts
	Exit int    // of the program
	of   []error
}

// kinds are all categories. An error has the first that matches, else the last.
var kinds = []Kind{
	{"cancelled", ExitInterrupted, []error{context.Canceled}},
	{"no_webgpu", ExitDevice, []error{gpu.ErrNoLibrary}},
	{"no_adapter", ExitDevice, []error{gpu.ErrNoAdapter, ErrNoDevice}},
	{"device_lost", ExitFailed, []error{gpu.ErrDeviceLost}},
	{"out_of_memory", ExitMemory, []error{gpu.ErrOutOfMemory, vae.ErrMemory, tiling.ErrBudget}},
	{"too_large", ExitMemory, []error{gpu.ErrTooLarge}},
	{"flat", ExitInput, []error{vae.ErrFlat}},
	{"bad_option", ExitUsage, []error{media.ErrFormat, media.ErrOption, tiling.ErrTile, tiling.ErrOverlap, vae.ErrTiling}},
	{"unknown_model", ExitInput, []error{vae.ErrLeftOut}},
	{"wrong_model", ExitInput, []error{media.ErrModel}},
	{"packed_size", ExitInput, []error{media.ErrPacked}},
	{"program_only", ExitInput, []error{media.ErrProgram}},
	{"bad_input", ExitInput, []error{ErrInput, media.ErrInput, vae.ErrBadModel, tiling.ErrFrame}},
	{"failed", ExitUsage, []error{media.ErrOutput}}, // the page and API clients see a server error
	{"failed", ExitFailed, nil},
}

// KindOf returns the kind of an error, which must not be nil.
func KindOf(err error) Kind {
	for _, k := range kinds {
		for _, target := range k.of {
			if errors.Is(err, target) {
				return k
			}
		}
	}
	return kinds[len(kinds)-1]
}

var (
	// ErrNoDevice means that the adapter exists but no device can be opened on it.
	ErrNoDevice = errors.New("no usable device")
	// ErrInput means that the requested job is invalid.
	ErrInput = errors.New("bad input")
)

// marked adds a kind to an error and keeps its text.
type marked struct {
	error
	kind error
}

func (e *marked) Unwrap() []error { return []error{e.error, e.kind} }

// Mark adds a kind to an error and keeps its text.
func Mark(err, kind error) error { return &marked{err, kind} }

// BadInput returns an ErrInput with the given text.
func BadInput(format string, args ...any) error { return Mark(fmt.Errorf(format, args...), ErrInput) }

// packages are names that prefix Go's errors, which only programmers need. Each error
// keeps its prefix until it is shown, so that a wrapped one still says where it is from.
const packages = " api assets bench browser dawn engine format gpu job json media pth quantised runner safetensors serve session tiling vae wasm web wgsl "

// Plain removes package names from an error's text, except names that are also the user's
// files.
func Plain(text string, files ...string) string {
	const colon = ": "
	for at := 0; ; {
		word, _, more := strings.Cut(text[at:], colon)
		switch {
		case !more:
			return text
		case !strings.Contains(word, " ") && strings.Contains(packages, " "+word+" ") && !slices.Contains(files, word):
			text = text[:at] + text[at+len(word)+len(colon):]
		default:
			at += len(word) + len(colon)
		}
	}
}

// BadInputOf returns a BadInput that also wraps kind.
func BadInputOf(kind error, format string, args ...any) error {
	return Mark(BadInput(format, args...), kind)
}
