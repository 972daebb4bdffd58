package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRest(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rest{of: "tests", except: "m/c"}
	_, ok, err := r.arguments()
	require.NoError(t, err)
	assert.False(t, ok, "the other step has not run")

	log := `{"Action":"output","Package":"m/a","Test":"TestX/one","Output":"    x.go:1: left to make test-all\n"}
{"Action":"skip","Package":"m/a","Test":"TestX/one"}
{"Action":"output","Package":"m/b","Test":"TestY","Output":"    y.go:1: left to make test-all, in part\n"}
{"Action":"output","Package":"m/a","Test":"TestZ","Output":"ok\n"}
{"Action":"output","Package":"m/c","Test":"TestW","Output":"    w.go:1: left to make test-all\n"}
`
	require.NoError(t, os.MkdirAll(logs, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(logs, "tests.json"), []byte(log), 0o666))
	args, ok, err := r.arguments()
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "-run '^(TestX|TestY)$' m/a m/b", args)
	r = rest{of: "tests", only: "m/b"}
	args, _, err = r.arguments()
	require.NoError(t, err)
	assert.Equal(t, "-run '^(TestY)$' m/b", args)
}
