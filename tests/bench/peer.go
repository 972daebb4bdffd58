package main

import (
	"bufio"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

//go:embed peer.py
var script string

// peer is the other side: a process that takes a command a line and answers
// with a line; arrays follow as bytes.
type peer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	version string
}

func startPeer(python string) (*peer, error) {
	p := &peer{cmd: exec.Command(python, "-c", script)}
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
	p.version, err = p.line()
	return p, err
}

func (p *peer) line() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("peer: %w", err)
	}
	return strings.TrimSpace(s), nil
}

// open sets a convolution up on [C, T, H, W] and returns its result.
func (p *peer) open(s shape, x, weight, bias []float32) ([]float32, error) {
	if _, err := fmt.Fprintf(p.in, "open %d %d %d %d\n", s.C, s.T, s.H, s.W); err != nil {
		return nil, err
	}
	for _, v := range [][]float32{x, weight, bias} {
		if _, err := p.in.Write(encode(v)); err != nil {
			return nil, err
		}
	}
	y := make([]float32, s.values())
	if err := binary.Read(p.out, binary.LittleEndian, y); err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	return y, nil
}

// best is the shortest of n runs.
func (p *peer) best(n int) (time.Duration, error) {
	if _, err := fmt.Fprintf(p.in, "run %d\n", n); err != nil {
		return 0, err
	}
	s, err := p.line()
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(s, 64)
	return time.Duration(seconds * float64(time.Second)), err
}

func (p *peer) close() {
	p.in.Close()
	p.cmd.Wait()
}
