package engine

import (
	"tessera/gpu"
	"tessera/tiling"
)

// Network is one direction of a model, ready to run.
type Network struct {
	Name    string    // in labels and errors: "decoder"
	Whole   Module    // the whole network
	Parts   Divisible // the parts of Whole; nil if its tiles cannot be exact
	Tilings []Tiling  // ways to combine its tiles, the default first
	Weights *Weights
	// Joint means that layers see all frames of a clip at once, so Whole runs on clips of
	// one slice. If Parts is set, those layers are in Inner, and Outer may run in slices.
	Joint     bool
	Lookahead bool // layers read later frames, and only Whole runs
	Untiled   bool // tiles see so little that one tile is preferred to unrequested tiles, if it fits
}

// Divisible is a network of two parts. The outer part can be cut into exact tiles,
// because an output pixel depends only on nearby pixels. Encoding runs the outer part
// first, decoding the inner.
type Divisible interface {
	Inner() Module
	Outer() Module
	// Width returns the number of channels between the two.
	Width() int
	// Halo follows a part of Outer's output back through its layers. The output has
	// frames of size frame, the input of size from. in is the part of the input that
	// `out` depends on. windows are the parts that layers compute, no more than later
	// layers need. part is the position of `out` in Outer's output.
	Halo(out tiling.Rect, from, frame tiling.Size) (in tiling.Rect, windows Windows, part tiling.Rect)
}

// Job is a task: a network on a clip.
type Job struct {
	Direction
	Network *Network
	Kernels Kernels
	Adapter gpu.Info
	NoFold  bool // convolutions compute each temporal tap separately, even if several read one frame

	Frames, Height, Width int  // of the input, in samples
	Independent           bool // frames are separate pictures
	Output                Output
}
