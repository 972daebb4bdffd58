package vae

// In a browser nothing lies beside a file.

func qwenConfig(string) bool { return false }

func (*Config) statisticsBeside(string) error { return nil }
