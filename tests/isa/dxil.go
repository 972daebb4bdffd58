package main

import (
	"regexp"
	"strconv"
	"strings"
)

// dxil is what Microsoft's compiler makes of a shader for Direct3D 12, before a card's
// driver compiles it.
type dxil struct {
	ms, bytes int    // processor time; size of the DXIL
	failure   string // "" if it compiled and is signed
	arrays    int    // bytes of arrays that are not in registers
	accesses  int    // loads and stores of them in all loops
}

const (
	dxcMark     = "dxc: compiled in "
	dxcFailed   = "dxc: failed with "
	dxcListings = `dxc: (?:compiled|failed)` // the lines before a listing

	product class = "product" // not fused with a sum
)

var (
	dxcStats   = regexp.MustCompile(dxcMark + `(\d+) ms, (\d+) bytes, (\w+)`)
	dxilLabel  = regexp.MustCompile(`^; <label>:(\d+) +; preds = (.*)`)
	dxilArray  = regexp.MustCompile(`= alloca \[(\d+) x (\w+)\]`)
	dxilAccess = regexp.MustCompile(`= load \w+, \w+\* |^  store \w+ [^,]+, \w+\* `) // those of workgroup memory have addrspace
	dxilOp     = regexp.MustCompile(`^  (?:%\S+ = )?([a-z]+) `)
)

// direct3D reads the listing of tools/wine/dxcompiler.c.
func direct3D(s *shader, text string) {
	s.dxil = &dxil{}
	stats := dxcStats.FindStringSubmatch(text)
	if stats == nil {
		_, after, _ := strings.Cut(text, dxcFailed)
		s.dxil.failure, _, _ = strings.Cut(strings.TrimSpace("failed with "+after), "\n")
		return
	}
	s.dxil.ms, _ = strconv.Atoi(stats[1])
	s.dxil.bytes, _ = strconv.Atoi(stats[2])
	if stats[3] != "signed" {
		s.dxil.failure = stats[3]
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	_, code, _ := strings.Cut(text, "\ndefine void @")
	code, _, _ = strings.Cut(code, "\n}\n")
	index, before := map[string]int{"0": 0}, [][]string{nil}
	blocks, accesses := []block{{}}, []int{0}
	for line := range strings.Lines(code) {
		if label := dxilLabel.FindStringSubmatch(line); label != nil {
			index[label[1]] = len(blocks)
			blocks, accesses = append(blocks, block{}), append(accesses, 0)
			before = append(before, strings.Split(strings.ReplaceAll(label[2], "%", ""), ", "))
			continue
		}
		if array := dxilArray.FindStringSubmatch(line); array != nil {
			n, _ := strconv.Atoi(array[1])
			size := 4
			if array[2] == "half" || array[2] == "i16" {
				size = 2
			}
			s.dxil.arrays += n * size
		}
		n := len(blocks) - 1
		if dxilAccess.MatchString(line) {
			accesses[n]++
		}
		if op := dxilOp.FindStringSubmatch(line); op != nil {
			blocks[n].ops = append(blocks[n].ops, dxilClass(op[1], line))
		}
	}
	for to, names := range before {
		for _, name := range names {
			blocks[to].from = append(blocks[to].from, index[name])
		}
	}
	s.loop = innerLoop(blocks)
	looped := map[int]bool{}
	for head := range blocks {
		for _, tail := range blocks[head].from {
			body := loopBody(blocks, head, tail)
			if head > 0 && body[0] { // a path around head, so no loop
				continue
			}
			for i := range body {
				looped[i] = true
			}
		}
	}
	for i := range looped {
		s.dxil.accesses += accesses[i]
	}
}

func dxilClass(op, line string) class {
	switch {
	case strings.Contains(line, "@dx.op.tertiary.f32(i32 46"), strings.Contains(line, "@dx.op.tertiary.f16(i32 46"):
		return fma
	case op == "fmul":
		return product
	case op == "load", op == "store":
		return memory
	}
	return vector
}
