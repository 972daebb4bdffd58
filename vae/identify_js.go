package vae

// A browser's file has no neighbours, and hashing it would read all of it.

func qwenConfig(string) bool { return false }

func (*Config) identified(string, int64) error { return nil }
