package media

// freeMemory returns half of WebAssembly's largest memory.
func freeMemory() int64 { return 2 << 30 }
