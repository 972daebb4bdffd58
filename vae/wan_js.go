package vae

// qwenConfig: in a browser nothing lies beside a file.
func qwenConfig(string) bool { return false }
