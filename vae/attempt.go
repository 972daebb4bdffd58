package vae

import "tessera/engine"

// attempt is a plan under way, which another one takes the place of where the
// device has no memory for it.
type attempt struct {
	model *Model
	plan  **Plan
	job   func(m *Model) *engine.Job
	o     Options
	in    engine.Input
	watch engine.Watch
	told  Watch
	given int // frames
}
