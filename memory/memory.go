// Package memory reports how much of the machine's memory is free. Free is its only
// function:
//
//	if free, known := memory.Free(); known && free < need { ... }
package memory
