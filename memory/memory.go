// Package memory reports how much of the machine's memory is free.
package memory
