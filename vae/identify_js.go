package vae

// In a browser nothing lies beside a file, and hashing one would read all of it.

func qwenConfig(string) bool { return false }

func (*Config) identified(string, int64) error { return nil }
