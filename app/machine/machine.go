// Package machine is a device with a model on it, as the command line uses it.
//
// Start at Opener: Check reads a checkpoint without a device, so that a bad one is
// reported early, and Open opens the device and the model that a Choice names, with other
// adapters that share the tiles. A Kept reuses one clip's machine for the next.
//
// A Machine plans one direction of a job and runs it: PlanDecode and Decode, PlanEncode
// and Encode. It reports long plans, tiles, progress and failing adapters to the
// terminal. Decode hands its frames to a Taker while the device computes the next ones,
// and continues from what a Keeper has stored. Unplanned advises on a job that is too
// large.
package machine
