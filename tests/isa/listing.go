package main

import (
	"regexp"
	"strconv"
	"strings"
)

// shader is a listing's description of one shader.
type shader struct {
	label, layer, kernel, elem string
	number                     string // of the program, in isa compile published

	first bool // the card takes this kernel unless a trial chooses another

	registers int // per invocation; on Intel per subgroup
	waves     int // subgroups that a compute unit holds at once; on Intel the subgroup's invocations
	// local is what registers do not hold: bytes per subgroup on AMD and per invocation on
	// NVIDIA, stores of registers (spills) on Intel, loads and stores on Adreno.
	local int
	loop  map[class]int

	dxil *dxil // in the listing of Microsoft's compiler
}

// class is a kind of instruction.
type class string

const (
	matrix class = "matrix"
	fma    class = "multiply-add"
	packed class = "two multiply-adds of halves"
	vector class = "vector"
	scalar class = "scalar"
	memory class = "memory"
	shared class = "workgroup memory"
	wait   class = "wait"
)

// parse splits a listing at compile's marks.
func parse(listing string) (adapter string, shaders []shader) {
	for i, part := range strings.Split(listing, shaderMark) {
		first, rest, _ := strings.Cut(part, "\n")
		if i == 0 {
			_, after, _ := strings.Cut(part, adapterMark)
			adapter, _, _ = strings.Cut(after, "\n")
			continue
		}
		name := append(strings.Split(strings.TrimSpace(first), "|"), "", "", "", "", "")
		s := shader{label: name[0], layer: name[1], kernel: name[2], elem: name[3], first: name[4] == "first", number: name[5]}
		switch {
		case strings.Contains(rest, dxcMark), strings.Contains(rest, dxcFailed):
			direct3D(&s, rest)
		case strings.Contains(rest, "Native code for unnamed compute"):
			intel(&s, rest)
		case strings.Contains(rest, "Native code for unnamed CL"):
			adreno(&s, rest)
		case strings.Contains(rest, "NAK IR"):
			nvidia(&s, rest)
		case strings.Contains(rest, "disasm:"):
			amd(&s, rest)
		}
		shaders = append(shaders, s)
	}
	return adapter, shaders
}

// number returns the number after a name in a driver's statistics.
func number(text, name string) int {
	_, after, ok := strings.Cut(text, "\n"+name+": ")
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(after, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

// block is a basic block; from are the indices of its predecessors.
type block struct {
	ops  []class
	from []int
}

var (
	amdLabel = regexp.MustCompile(`^(BB\d+):`)
	amdOp    = regexp.MustCompile(`^\s+([a-z]\w+)(?:\s+(BB\d+))?`)
	amdFMA   = regexp.MustCompile(`^v_(dual_)?(fma|fmac|dot|mac)`)
)

// amd reads RADV's listing.
func amd(s *shader, text string) {
	s.registers, s.waves, s.local = number(text, "VGPRs"), number(text, "Subgroups per SIMD"), number(text, "Scratch size")
	_, code, _ := strings.Cut(text, "disasm:")
	code, _, _ = strings.Cut(code, "*** SHADER STATS")
	index, targets := map[string]int{}, map[int][]string{}
	blocks, ended := []block{{}}, false
	for line := range strings.Lines(code) {
		if label := amdLabel.FindStringSubmatch(line); label != nil {
			index[label[1]] = len(blocks)
			b := block{}
			if !ended {
				b.from = []int{len(blocks) - 1}
			}
			ended = false
			blocks = append(blocks, b)
		} else if op := amdOp.FindStringSubmatch(line); op != nil && !ended { // after a jump there is padding
			ended = op[1] == "s_branch" || op[1] == "s_endpgm"
			n := len(blocks) - 1
			blocks[n].ops = append(blocks[n].ops, amdClass(op[1]))
			if op[2] != "" {
				targets[n] = append(targets[n], op[2])
			}
		}
	}
	link(blocks, index, targets)
	s.loop = innerLoop(blocks)
}

func amdClass(op string) class {
	switch {
	case strings.Contains(op, "wmma"):
		return matrix
	case strings.HasPrefix(op, "v_pk_fma"):
		return packed
	case amdFMA.MatchString(op):
		return fma
	case strings.HasPrefix(op, "v_"):
		return vector
	case strings.HasPrefix(op, "ds_"):
		return shared
	case strings.HasPrefix(op, "s_wait"), op == "s_delay_alu":
		return wait
	case strings.HasPrefix(op, "s_") && !strings.Contains(op, "load"):
		return scalar
	}
	return memory
}

var (
	nvidiaBlock = regexp.MustCompile(`(?m)^block(?:\.u)? (\d+) (?:\w+ )?\[([\d, ]*)\]`)
	nvidiaOp    = regexp.MustCompile(`^\s*(?:@!?\w+\s+)?(?:[^=]*=\s*)?(?:@!?\w+\s+)?([a-z]\w*)`)
)

// nvidia reads NAK's listing: the program after its last pass, then statistics.
func nvidia(s *shader, text string) {
	s.registers, s.waves, s.local = number(text, "Num GPRs"), number(text, "Max warps/SM"), number(text, "SLM size")
	code := text[max(0, strings.LastIndex(text, "NAK IR")):]
	code, _, _ = strings.Cut(code, "\nStage: ")
	heads := nvidiaBlock.FindAllStringSubmatchIndex(code, -1)
	blocks := make([]block, len(heads))
	for i, head := range heads {
		end := len(code)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		for line := range strings.Lines(code[head[1]:end]) {
			line, _, _ = strings.Cut(line, "//")
			if op := nvidiaOp.FindStringSubmatch(line); op != nil && strings.TrimSpace(line) != "" {
				blocks[i].ops = append(blocks[i].ops, nvidiaClass(op[1], line))
			}
		}
		for before := range strings.SplitSeq(code[head[4]:head[5]], ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(before)); err == nil && n < len(blocks) {
				blocks[i].from = append(blocks[i].from, n)
			}
		}
	}
	s.loop = innerLoop(blocks)
}

func nvidiaClass(op, line string) class {
	switch {
	case op == "hmma", op == "imma":
		return matrix
	case op == "ffma":
		return fma
	case op == "hfma2", op == "hmul2":
		return packed
	case op == "ldsm", strings.Contains(line, ".shared"):
		return shared
	case op == "ld", op == "st":
		return memory
	}
	return vector
}

var (
	intelStats = regexp.MustCompile(`(?m)^SIMD(\d+) shader: .* (\d+):\d+ spills:fills.* GRF registers: (\d+)`)
	intelLabel = regexp.MustCompile(`^(L\d+):`)
	intelOp    = regexp.MustCompile(`^(?:\([^)]*\))?\s*([a-z]\w*)(?:\.(\w+))? \(`)
	intelWhile = regexp.MustCompile(`^(?:\([^)]*\))?\s*while \(\d+\)\s+(L\d+)`)
	intelFloat = regexp.MustCompile(`:(f|hf|bf)\b`)
)

// intel reads ANV's listing. A loop is what lies between a label and the while that
// names it; branches within loops are not followed.
func intel(s *shader, text string) {
	if stats := intelStats.FindStringSubmatch(text); stats != nil {
		s.waves, _ = strconv.Atoi(stats[1])
		s.local, _ = strconv.Atoi(stats[2])
		s.registers, _ = strconv.Atoi(stats[3])
	}
	index, blocks := map[string]int{}, []block{{}}
	next := func() { blocks = append(blocks, block{from: []int{len(blocks) - 1}}) }
	for line := range strings.Lines(text) {
		if label := intelLabel.FindStringSubmatch(line); label != nil {
			next()
			index[label[1]] = len(blocks) - 1
		} else if op := intelOp.FindStringSubmatch(line); op != nil {
			n := len(blocks) - 1
			blocks[n].ops = append(blocks[n].ops, intelClass(op[1], op[2], line))
			if head := intelWhile.FindStringSubmatch(line); head != nil {
				to := index[head[1]]
				blocks[to].from = append(blocks[to].from, n)
				next()
			}
		}
	}
	s.loop = innerLoop(blocks)
}

func intelClass(op, unit, line string) class {
	switch {
	case op == "dpas":
		return matrix
	case (op == "mad" || op == "mac") && intelFloat.MatchString(line):
		return fma
	case strings.HasPrefix(op, "send") && unit == "slm":
		return shared
	case strings.HasPrefix(op, "send"):
		return memory
	case op == "sync":
		return wait
	}
	return vector
}

var (
	adrenoStats  = regexp.MustCompile(`(\d+) half, (\d+) full`)
	adrenoWaves  = regexp.MustCompile(`(\d+) max_waves`)
	adrenoLabel  = regexp.MustCompile(`^(l\d+):`)
	adrenoOp     = regexp.MustCompile(`^((?:\(\w+\))*)\s*([a-z]\w*)(\.\w+)?`)
	adrenoRepeat = regexp.MustCompile(`\((rpt|nop)(\d)\)`)
	adrenoTarget = regexp.MustCompile(`#(l\d+)`)
)

// adreno reads Turnip's listing. An instruction that repeats counts as several, and the
// waiting before it, (nop3), as instructions, as in Turnip's own statistics.
func adreno(s *shader, text string) {
	if stats := adrenoStats.FindStringSubmatch(text); stats != nil {
		full, _ := strconv.Atoi(stats[2]) // of four numbers; halves lie in the same ones
		s.registers = 4 * full
	}
	if waves := adrenoWaves.FindStringSubmatch(text); waves != nil {
		s.waves, _ = strconv.Atoi(waves[1])
	}
	index, targets := map[string]int{}, map[int][]string{}
	blocks := []block{{}}
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(line, "MESA: info: ")
		if label := adrenoLabel.FindStringSubmatch(line); label != nil {
			index[label[1]] = len(blocks)
			blocks = append(blocks, block{from: []int{len(blocks) - 1}})
			continue
		}
		op := adrenoOp.FindStringSubmatch(line)
		if op == nil {
			continue
		}
		n, times := len(blocks)-1, 1
		for _, repeat := range adrenoRepeat.FindAllStringSubmatch(op[1], -1) {
			more, _ := strconv.Atoi(repeat[2])
			if repeat[1] == "rpt" {
				times += more
				continue
			}
			for range more {
				blocks[n].ops = append(blocks[n].ops, wait)
			}
		}
		for range times {
			blocks[n].ops = append(blocks[n].ops, adrenoClass(op[2], op[3]))
		}
		if op[2] == "stp" || op[2] == "ldp" {
			s.local++
		}
		if to := adrenoTarget.FindStringSubmatch(line); to != nil {
			targets[n] = append(targets[n], to[1])
			next := block{from: []int{n}}
			if op[2] == "jump" {
				next.from = nil
			}
			blocks = append(blocks, next)
		}
	}
	link(blocks, index, targets)
	s.loop = innerLoop(blocks)
}

func adrenoClass(op, kind string) class {
	switch {
	case op == "mad" && (kind == ".f32" || kind == ".f16"):
		return fma
	case op == "nop":
		return wait
	case op == "ldl", op == "stl", op == "ldlw", op == "stlw":
		return shared
	case strings.HasPrefix(op, "ld"), strings.HasPrefix(op, "st"), strings.HasPrefix(op, "isam"):
		return memory
	}
	return vector
}

// link adds the jumps from blocks to labels.
func link(blocks []block, index map[string]int, targets map[int][]string) {
	for from, names := range targets {
		for _, name := range names {
			to := index[name]
			blocks[to].from = append(blocks[to].from, from)
		}
	}
}

// innerLoop counts the instructions of the shortest loop around the block with the most
// products.
func innerLoop(blocks []block) map[class]int {
	busiest, most := 0, 0
	for i := range blocks {
		n := count(blocks[i:i+1], map[int]bool{0: true})
		if n := n[fma] + n[packed] + n[matrix]; n > most {
			busiest, most = i, n
		}
	}
	var shortest map[class]int
	length := 0
	for head := range blocks {
		for _, tail := range blocks[head].from {
			body := loopBody(blocks, head, tail)
			if !body[busiest] || head > 0 && body[0] { // a path around head, so no loop
				continue
			}
			if n := count(blocks, body); shortest == nil || total(n) < length {
				shortest, length = n, total(n)
			}
		}
	}
	return shortest
}

// loopBody returns head and the blocks from which tail is reachable without passing
// head.
func loopBody(blocks []block, head, tail int) map[int]bool {
	body := map[int]bool{head: true}
	for todo := []int{tail}; len(todo) > 0; {
		i := todo[0]
		todo = todo[1:]
		if !body[i] {
			body[i] = true
			todo = append(todo, blocks[i].from...)
		}
	}
	return body
}

// count adds up the instructions of some blocks.
func count(blocks []block, which map[int]bool) map[class]int {
	counts := map[class]int{}
	for i := range which {
		for _, op := range blocks[i].ops {
			counts[op]++
		}
	}
	return counts
}

func total(counts map[class]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
