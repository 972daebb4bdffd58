// Package runner does what a plan of package engine says, on a device: it feeds the
// slices of each tile through the network, moves what has no room, takes results off
// the device, and puts tiles together.
//
// Start at Run, which goes through the passes, tiles and slices of a plan. Each has a
// list of steps, which are data; run.do does one of them.
//
//	run.go       passes, tiles and slices in order, and progress
//	watch.go     what a run is fed with, tells and yields
//	step.go      what becomes of each step
//	readback.go  bytes on their way off the device, and to whom they go
//	linear.go    tiles blended on the host, as diffusers does
//	spool.go     bytes outside of the device: frames that are put together
//	host.go      the same for causal memory
//	weights.go   weights on the device, and those that stream
//	resume.go    a run that goes on where another one ended
//	queue.go     the work queue of several devices
//	trace.go     what each layer makes, for tests
//	speed.go     how quick a device is
//
// One goroutine uses a device. Nothing here is safe for concurrent use.
package runner
