// Package machine is a device with a model on it, and what the command line does with it.
//
// An Opener checks a checkpoint without a device, so that a bad one is told first, and
// opens the device and the model that a Choice names, with other adapters that share the
// tiles. What is kept of one clip for the next is a Kept.
//
// A Machine plans one direction of a job and runs it: PlanDecode and Decode, PlanEncode and
// Encode. The terminal is told of plans that take long, of how a clip is cut, of progress,
// and of adapters that fail. Decode hands its frames to a Taker while the device makes the
// next ones, and goes on from what a Keeper has kept. Unplanned says what to do about a job
// that is too large.
package machine
