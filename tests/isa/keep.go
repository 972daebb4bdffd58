package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// keep runs isa compile, in whatever environment the command makes, and writes what
// parse reads of its stderr to a file: a driver prints each of its passes, 80 MB for a
// card. When the command fails, the error has its last lines.
func keep(file string, command []string) (err error) {
	out, err := os.Create(file) // #nosec G304 -- a file the caller names
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	c := exec.Command(command[0], command[1:]...) // #nosec G204 -- a command of the caller
	c.Stdout = os.Stdout
	listing, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	last, err := filter(out, listing)
	if err != nil {
		return errors.Join(err, c.Process.Kill(), c.Wait())
	}
	if err := c.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, last)
	}
	return nil
}

// finalPass is the line before a driver's last form of a shader.
var finalPass = regexp.MustCompile(`NAK IR after|disasm:|Native code for|^` + dxcListings)

// filter copies marks, and of each shader the listing from the last line that matches
// finalPass. It returns the last lines it read.
func filter(w io.Writer, listing io.Reader) (last string, err error) {
	var part, recent strings.Builder
	out, in := bufio.NewWriter(w), bufio.NewReader(listing)
	final := false
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			if recent.Len()+len(line) > 4096 {
				recent.Reset()
			}
			recent.WriteString(line)
			switch {
			case strings.HasPrefix(line, adapterMark), strings.HasPrefix(line, shaderMark), strings.HasPrefix(line, planMark):
				out.WriteString(part.String() + line)
				part.Reset()
				final = false
			case finalPass.MatchString(line):
				part.Reset()
				final = true
			}
			if final {
				part.WriteString(line)
			}
		}
		if err == io.EOF {
			out.WriteString(part.String())
			return recent.String(), out.Flush()
		}
		if err != nil {
			return recent.String(), err
		}
	}
}
