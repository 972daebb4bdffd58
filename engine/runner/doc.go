// Package runner executes a plan of package engine on a device: it feeds the slices
// of each tile through the network, moves data that does not fit, reads results back, and
// combines tiles.
//
// Start at Run, which goes through the passes, tiles and slices of a plan. Each has a
// list of steps, which are data; run.do executes one of them.
//
//	run.go       passes, tiles and slices in order, and progress
//	watch.go     a run's inputs, progress reports and outputs
//	step.go      how each step is executed
//	readback.go  results on their way off the device, and their receivers
//	linear.go    tiles blended on the host, as diffusers does
//	spool.go     frames that are combined outside of the device
//	host.go      causal memory outside of the device
//	weights.go   weights on the device, and streamed weights
//	resume.go    a run that continues where another one ended
//	queue.go     the work queue of several devices
//	trace.go     each layer's output, for tests
//	speed.go     the speed of a device
//
// One goroutine uses a device. Nothing here is safe for concurrent use.
package runner
