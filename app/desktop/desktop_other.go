//go:build !windows

package desktop

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Started returns false: on other systems programs start in a terminal that stays open.
func Started() bool { return false }

// browse opens a file in the user's browser.
func browse(path string) error {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, path)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	go cmd.Wait()
	return nil
}
