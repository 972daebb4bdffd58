//go:build !js

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// python is a process of native.py or decoder.py, which reads one order per line and
// answers with one line of JSON.
type python struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	versions map[string]string // of the peers
}

func startPython(interpreter string, script ...string) (*python, error) {
	p := &python{cmd: exec.Command(interpreter, script...)} // #nosec G204 -- the user's own
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.answer(&p.versions)
}

func (p *python) answer(to any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s: %w", p.cmd.Args[1], err)
	}
	return json.Unmarshal(line, to)
}

func (p *python) ask(to any, order string, words ...any) error {
	if _, err := fmt.Fprintln(p.in, append([]any{order}, words...)...); err != nil {
		return err
	}
	return p.answer(to)
}

// graphs writes the graphs of the case in a folder and returns their names.
func (p *python) graphs(folder string) (names []string, err error) {
	return names, p.ask(&names, "graphs", folder)
}

func (p *python) open(folder string, _ Case) (o opened, err error) {
	return o, p.ask(&o, "open", folder)
}

func (p *python) run(name string, n int) (seconds []float64, err error) {
	return seconds, p.ask(&seconds, "run", name, n)
}

func (p *python) close() error {
	var closed string
	return p.ask(&closed, "close")
}

func (p *python) end() {
	p.in.Close()
	p.cmd.Wait()
}
