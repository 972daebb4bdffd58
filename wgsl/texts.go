package wgsl

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// The shaders: plain/ runs everywhere, cards/ and processors/ are for such adapters,
// shared/ is what they import.
//
//go:embed */*.wgsl
var embedded embed.FS

// texts are the shaders; tests may add some.
var texts fs.FS = embedded

// source returns the complete WGSL of a shader.
//
// `#import NAME` inserts a file once: FOLDER/NAME.wgsl, or NAME of shared/. `tile`
// stands for the constants of the kernel's row. `elem`, `weight` and `weight8` get the
// requested storage as a suffix; `elem` may also get ReLU or LeakyReLU. `multiply_add`
// uses fma in an unrolled shader.
//
// `#unroll NAME COUNT` repeats the lines up to its `#end` COUNT times, with the number
// in place of {NAME}. COUNT is a number, a constant of the tile, or a product of them.
// `#loop NAME COUNT` makes them a loop, or a block for each number in an unrolled shader;
// a further condition may follow, of the loop or of each block. `#copies NAME COUNT` makes them blocks, or a
// loop in an unrolled shader: a longer text would take DXC too long.
func (h *shader) source(elem, weight Elem) string {
	l := loader{shader: h, elem: elem, weight: weight, seen: map[string]bool{}}
	l.add(h.file)
	if h.lanes == 0 {
		return l.directives + l.out.String()
	}
	return l.directives + "enable subgroup_size_control;\n" +
		strings.Replace(l.out.String(), "@compute ", fmt.Sprintf("@compute @subgroup_size(%d) ", h.lanes), 1)
}

// loader assembles a shader.
type loader struct {
	shader       *shader
	elem, weight Elem
	directives   string // enable and diagnostic, which must come first
	seen         map[string]bool
	out          strings.Builder
}

// add appends a file.
func (l *loader) add(name string) {
	text, err := fs.ReadFile(texts, name+".wgsl")
	if err != nil {
		panic(fmt.Sprintf("wgsl: %s: %v", l.shader.file, err))
	}
	for line := range strings.Lines(l.shader.unroll(string(text))) {
		if strings.HasPrefix(line, "enable ") || strings.HasPrefix(line, "diagnostic(") {
			l.directives += line
			continue
		}
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "#import ")
		switch {
		case !ok:
			l.out.WriteString(line)
		case !l.seen[name]:
			l.seen[name] = true
			l.importing(name)
		}
	}
}

// importing appends the file or constants of an import.
func (l *loader) importing(name string) {
	switch name {
	case "tile":
		l.out.WriteString(l.shader.tile())
		return
	case "elem":
		name += "_" + l.stored().String()
		switch {
		case l.shader.leaky:
			name += "_leaky"
		case l.shader.relu:
			name += "_relu"
		}
		if l.stored() == F16 {
			l.directives += "enable f16;\n"
		}
	case "weight", "cards/weight8":
		name += "_" + l.weight.String()
	case "multiply_add":
		if l.shader.unrolled {
			name += "_fma"
		}
	}
	if !strings.Contains(name, "/") {
		name = "shared/" + name
	}
	l.add(name)
}

// stored returns the storage of activations as the shader reads them.
func (l *loader) stored() Elem {
	if l.shader.words && l.elem == F16 {
		return Packed
	}
	return l.elem
}

// repeated returns the fields of a line that begins a repeated block, or nil.
func repeated(line string) []string {
	kind, _, _ := strings.Cut(line, " ")
	if kind != "#unroll" && kind != "#loop" && kind != "#copies" {
		return nil
	}
	return strings.SplitN(line, " ", 4)
}

// unroll expands #unroll, #loop and #copies.
func (h *shader) unroll(text string) string {
	var out strings.Builder
	for strings.Contains(text, "#") {
		line, rest, _ := strings.Cut(text, "\n")
		head := repeated(line)
		text = rest
		if head == nil {
			out.WriteString(line + "\n")
			continue
		}
		end := 0 // of the block, after nested blocks
		for open := 1; open > 0; {
			line, _, _ := strings.Cut(rest[end:], "\n")
			switch {
			case repeated(line) != nil:
				open++
			case line == "#end":
				open--
			}
			end += len(line) + 1
		}
		text = rest[end:]
		out.WriteString(h.repeat(head, strings.TrimSuffix(rest[:end], "#end\n")))
	}
	return out.String() + text
}

// repeat expands the block behind a first line with these fields.
func (h *shader) repeat(head []string, block string) string {
	kind, name, count, condition := head[0], head[1], head[2], strings.Join(head[3:], "")
	replaced := func(text, by string) string { return strings.ReplaceAll(text, "{"+name+"}", by) }
	if kind == "#loop" && !h.unrolled || kind == "#copies" && h.unrolled {
		if _, err := strconv.Atoi(count); err == nil {
			count += "u"
		}
		if condition != "" {
			count += " " + replaced(condition, name)
		}
		return fmt.Sprintf("for (var %[1]s = 0u; %[1]s < %[2]s; %[1]s++) {\n%[3]s}\n", name, count, h.unroll(replaced(block, name)))
	}
	if condition != "" {
		condition = "if " + strings.TrimPrefix(condition, "&& ") + " "
	}
	var out strings.Builder
	for i := range h.count(count) {
		if kind == "#unroll" {
			out.WriteString(h.unroll(replaced(block, strconv.Itoa(i))))
		} else {
			out.WriteString(h.unroll(replaced(condition+"{\n"+block+"}\n", fmt.Sprintf("%du", i))))
		}
	}
	return out.String()
}

// count returns a number, the value of a constant of the tile, or a product of them.
func (h *shader) count(of string) int {
	if a, b, ok := strings.Cut(of, "*"); ok {
		return h.count(a) * h.count(b)
	}
	if n, err := strconv.Atoi(of); err == nil {
		return n
	}
	for _, c := range h.constants() {
		if c.name == of {
			return c.value
		}
	}
	panic(fmt.Sprintf("wgsl: %s: no constant %s, which a loop counts to", h.file, of))
}

// tile returns the constants of a shader's text.
func (h *shader) tile() string {
	var text strings.Builder
	for _, c := range h.constants() {
		fmt.Fprintf(&text, "const %s: u32 = %d;\n", c.name, c.value)
	}
	if h.block > 0 {
		fmt.Fprintf(&text, "const SHARED: bool = %t;\n", h.shared())
	}
	return text.String()
}

// constant is a constant of a shader's text.
type constant struct {
	name  string
	value int
}

// constants returns those of the tile: invocations of a workgroup; pixels, blocks of
// channels and vec4s of a block of an invocation; adjacent taps, the stride between the
// pixels under them, and the number of pixels under all of them; and the row's other
// sizes.
func (h *shader) constants() []constant {
	all := []constant{{"WG", h.wg}}
	if h.pixels > 0 {
		all = append(all, constant{"PIXELS", h.pixels})
	}
	if h.block > 0 {
		all = append(all, constant{"BLOCK", h.block}, constant{"BLOCKS", max(1, h.blocks)})
	}
	if h.block > 0 && h.fit == nil {
		all = append(all, constant{"WIDE", h.block / 4})
	}
	if h.taps > 0 {
		stride := max(1, h.stride)
		all = append(all, constant{"TAPS", h.taps}, constant{"STRIDE", stride}, constant{"INPUTS", (h.pixels-1)*stride + h.taps})
	}
	return append(all, h.sizes...)
}
