//go:build !windows

package main

import (
	"fmt"
	"os/exec"
	"runtime"
)

// fromDesktop: elsewhere programs are started in terminals that stay.
func fromDesktop() bool { return false }

// browse opens an address in the user's browser.
func browse(url string) error {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, url)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	go cmd.Wait()
	return nil
}
