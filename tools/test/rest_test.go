package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	_, ok, err := leftOut("tests", []string{"./a"})
	require.NoError(t, err)
	assert.False(t, ok, "the other step has not run")

	log := `{"Action":"output","Package":"m/a","Test":"TestX/one_(1)/f16","Output":"    x.go:1: left to make test-all\n"}
{"Action":"skip","Package":"m/a","Test":"TestX/one_(1)/f16"}
{"Action":"output","Package":"m/b/c","Test":"TestY","Output":"    y.go:1: left to make test-all, in part\n"}
{"Action":"output","Package":"m/b/c","Test":"TestY/two/three","Output":"    y.go:1: left to make test-all\n"}
{"Action":"output","Package":"m/a","Test":"TestZ","Output":"ok\n"}
{"Action":"output","Package":"m/ab","Test":"TestW","Output":"    w.go:1: left to make test-all\n"}
`
	require.NoError(t, os.MkdirAll(logs, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(logs, "tests.json"), []byte(log), 0o666))
	for packages, expected := range map[string]string{
		"./a ./b/...": `-run '^TestX$/^one_\(1\)$/^f16$|^TestY$' m/a m/b/c`, // TestY includes its case
		"./b/c":       `-run '^TestY$' m/b/c`,
		"./b":         "",
	} {
		args, ok, err := leftOut("tests", strings.Fields(packages))
		require.NoError(t, err)
		assert.Equal(t, expected != "", ok)
		assert.Equal(t, expected, args)
	}
}

// Each package that leaves something out with -short is in exactly one step that runs
// it.
func TestEveryRestHasStep(t *testing.T) {
	out, err := exec.Command("git", "grep", "--full-name", "-lE", `testenv\.(Long|Short)\(`, "--", "../../*_test.go").Output()
	require.NoError(t, err)
	require.NotEmpty(t, out)
	for file := range strings.FieldsSeq(string(out)) {
		dir := filepath.Dir(file)
		var in []string
		for _, s := range steps {
			if _, packages, _ := strings.Cut(s.tests, " ./"); s.rest == "tests" && among("tessera/"+dir, strings.Fields("./"+packages)) {
				in = append(in, s.name)
			}
		}
		assert.Len(t, in, 1, "%s: steps %v", file, in)
	}
}
