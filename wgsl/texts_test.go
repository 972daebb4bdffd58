package wgsl

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every text that a program can have, once. With TESSERA_CASES=FOLDER they are written
// there, so that another compiler also sees texts that no case runs. The log has a
// checksum of each kernel's texts; tools/test uses it to find those that changed.
func TestSources(t *testing.T) {
	sources := map[string]string{} // names, by text
	all := 0
	for _, table := range tables {
		for _, k := range table.kernels {
			if k.onlyF16 {
				continue // in Dawn's own language, or words read as halves, which other compilers reject
			}
			sum := sha256.New()
			shaders := slices.Clone(k.shaders)
			if takesReLU(table.operation) {
				for i := range k.shaders {
					shaders = append(shaders, *k.shaders[i].withReLU(true), *k.shaders[i].withReLU(true).withLeakyReLU(true))
				}
			}
			for i := range shaders {
				for _, elem := range []Elem{F32, F16, Packed} {
					for _, weight := range []Elem{F32, Packed} {
						all++
						source := shaders[i].source(elem, weight)
						io.WriteString(sum, withoutComments(source))
						sources[source] = fmt.Sprintf("%s.%s.%s.%v.%v.wgsl", table.operation, k.name, shaders[i].name(), elem, weight)
						assert.NotContains(t, source, "#import")
						assert.Equal(t, elem == F16 && strings.Contains(source, "f16>"), strings.HasPrefix(source, "enable f16;"), sources[source])
					}
				}
			}
			t.Logf("kernel %s/%s %x", table.operation, k.name, sum.Sum(nil)[:8])
		}
	}
	t.Logf("%d texts, %d of them different", all, len(sources))
	if folder := os.Getenv("TESSERA_CASES"); folder != "" {
		for source, name := range sources {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(source), 0o666))
		}
	}
}

// takesReLU reports whether an operation's parameters have ReLU.
func takesReLU(operation string) bool {
	return strings.HasPrefix(operation, "conv") || operation == "pointwise" || operation == "group_norm"
}

// withoutComments removes comments, indentation and empty lines.
func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//") // WGSL has no strings
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// The lines between #unroll, #loop or #copies and #end are repeated, including nested
// blocks.
func TestUnroll(t *testing.T) {
	h := &shader{sizes: []constant{{"ROWS", 2}, {"COLUMNS", 2}, {"NONE", 0}}}
	got := h.unroll("a\n#unroll r ROWS\nb{r}\n#unroll c COLUMNS\nc{r}{c}\n#end\nd\n#end\n#unroll n NONE\ne\n#end\n#unroll k 3\n{k}\n#end\nf{x}\n")
	require.Equal(t, "a\nb0\nc00\nc01\nd\nb1\nc10\nc11\nd\n0\n1\n2\nf{x}\n", got)
	require.Panics(t, func() { h.unroll("#unroll o OTHER\n#end\n") })

	text := "#loop r ROWS*2 && {r} < n\na{r}\n#unroll c COLUMNS\nb{r}{c}\n#end\n#end\n"
	rolled := "for (var r = 0u; r < ROWS*2 && r < n; r++) {\nar\nbr0\nbr1\n}\n"
	unrolled := "if 0u < n {\na0u\nb0u0\nb0u1\n}\nif 1u < n {\na1u\nb1u0\nb1u1\n}\nif 2u < n {\na2u\nb2u0\nb2u1\n}\nif 3u < n {\na3u\nb3u0\nb3u1\n}\n"
	require.Equal(t, rolled, h.unroll(text))
	copies := "#copies k 2\n{k}\n#end\n"
	require.Equal(t, "{\n0u\n}\n{\n1u\n}\n", h.unroll(copies))
	h.unrolled = true
	require.Equal(t, unrolled, h.unroll(text))
	require.Equal(t, "for (var k = 0u; k < 2u; k++) {\nk\n}\n", h.unroll(copies))
}
