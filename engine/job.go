package engine

import (
	"tessera/gpu"
	"tessera/tiling"
)

// Network is one direction of a model, ready to run.
type Network struct {
	Name    string    // in labels and errors: "decoder"
	Whole   Module    // all of it
	Parts   Divisible // what Whole is made of; nil where tiles of it can't be exact
	Tilings []Tiling  // that its tiles can be put together by, the default first
	Weights *Weights
	// Joint: layers see all frames of a clip at once, so Whole is run on clips of one
	// slice. Where Parts are set those layers are in Inner, and Outer may go in slices.
	Joint     bool
	Lookahead bool // layers read frames to come, and Whole alone is run
	Untiled   bool // tiles see so little that one is taken before those nobody asked for, where it fits
}

// Divisible is a network of two parts. The outer part can be cut into exact tiles,
// because an output pixel depends only on nearby pixels. Encoding runs the outer part
// first, decoding the inner.
type Divisible interface {
	Inner() Module
	Outer() Module
	// Width is the number of channels between the two.
	Width() int
	// Halo follows a part of what Outer makes, of a frame of that size that it makes
	// of one of size from, back through its layers. in is what it depends on of the input. windows are the
	// parts that layers make, no more than is needed further on. part is where
	// `out` then lies in what Outer makes.
	Halo(out tiling.Rect, from, frame tiling.Size) (in tiling.Rect, windows Windows, part tiling.Rect)
}

// Job is a task: a network on a clip.
type Job struct {
	Direction
	Network *Network
	Kernels Kernels
	Adapter gpu.Info
	NoFold  bool // convolutions compute each temporal tap, also those that read the same frame

	Frames, Height, Width int  // of the input, in samples
	Independent           bool // frames are pictures by themselves
	Output                Output
}
