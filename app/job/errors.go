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

// Exit codes of the program. Given again, what ended with ExitFailed or
// ExitInterrupted may come to its end; with ExitDevice on another machine, with
// ExitMemory on one of more memory or with smaller tiles; with the rest never.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInput       = 3
	ExitDevice      = 4
	ExitMemory      = 5
	ExitInterrupted = 130
)

// Kind is one way for a job to fail.
type Kind struct {
	Code string // for the page and the server; web/protocol.js lists them, web/strings has the words
	Exit int    // code of the program
	of   []error
}

// kinds are all there are. An error is of the first that fits, else of the last.
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
	{"failed", ExitUsage, []error{media.ErrOutput}}, // to the page and to programs a fault of here
	{"failed", ExitFailed, nil},
}

// KindOf is the kind of an error that isn't nil.
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
	// ErrNoDevice: the adapter is there, but no device can be opened on it.
	ErrNoDevice = errors.New("no usable device")
	// ErrInput: what a job was asked to be can't be.
	ErrInput = errors.New("bad input")
)

// marked makes an error one of kind and keeps its words.
type marked struct {
	error
	kind error
}

func (e *marked) Unwrap() []error { return []error{e.error, e.kind} }

// Mark makes an error one of kind too, and keeps its words.
func Mark(err, kind error) error { return &marked{err, kind} }

// BadInput is an ErrInput in its own words.
func BadInput(format string, args ...any) error { return Mark(fmt.Errorf(format, args...), ErrInput) }

// packages are the names that Go's errors begin with, which is news to programmers alone.
const packages = " api browser dawn engine format gpu job media pth quantised runner safetensors serve session tiling vae web wgsl "

// Plain is an error's text without the names of packages in it, but for those that are
// files of the user's, too.
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

// BadInputOf is a BadInput of a kind of its own.
func BadInputOf(kind error, format string, args ...any) error {
	return Mark(BadInput(format, args...), kind)
}
