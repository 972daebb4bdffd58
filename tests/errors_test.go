package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// Texts of errors begin with their package's name, as Go's do. Users do not see any of
// these names.
func TestPackagesOfErrors(t *testing.T) {
	found := map[string]bool{}
	for file := range files(t, ".go") {
		prefix := path.Base(path.Dir(file)) + ": "
		if strings.HasSuffix(file, "_test.go") || belowAny(path.Dir(file), helpers) || below(path.Dir(file), "tools") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				if text, _ := strconv.Unquote(s.Value); strings.HasPrefix(text, prefix) {
					found[prefix] = true
				}
			}
			return true
		})
	}
	require.Greater(t, len(found), 10)
	for prefix := range found {
		assert.Equal(t, "a text", job.Plain(prefix+"a text"), "add %s to packages in app/job/errors.go", prefix)
	}
}
