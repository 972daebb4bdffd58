package engine

import "tessera/wgsl"

// longer leaves a plan as it is: a page does not know the device's memory, and of the
// default budget a quarter is less than any video takes.
func (p *planner) longer(l *Plan) *Plan { return l }

// lines makes none.
func (c *Conv) lines(*emitter, wgsl.Conv3D, int) bool { return false }

// roomy leaves a list of commands to grow by itself: a page's slices are short.
func (*emitter) roomy() {}
