// Package files is what a command reads and writes, by name.
//
// A command lists its Inputs and Outputs and calls Begin before it opens any: outputs that
// would replace an input, lie among its frames or can't be are refused, and leftovers of
// killed programs are removed. It asks Vacant again before it publishes an output that must
// not replace anything.
//
// Streams is standard input and output under the name "-". Input keeps standard input in a
// temporary file, since files are read in any order, and Output sends the command's output
// to standard output.
//
// Disk is what a command keeps in temporary files; Room refuses it where the disk has less.
package files
