// Package files checks and opens what a command reads and writes, by name.
//
// A command lists its Inputs and Outputs and calls Begin before it opens any. Begin refuses
// outputs that would replace an input, lie among its frames or are impossible, and removes
// leftovers of killed programs. The command calls Vacant again before it publishes an output
// that must not replace anything.
//
// Streams handles standard input and output under the name "-". Input stores standard input
// in a temporary file, because files are read in any order; Output sends the command's
// output to standard output.
//
// Disk adds up a command's temporary files; Room refuses them if the disk has less space.
package files
