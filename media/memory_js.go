package media

// freeMemory is half of what WebAssembly can have.
func freeMemory() int64 { return 2 << 30 }
