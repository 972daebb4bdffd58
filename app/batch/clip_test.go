package batch

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A clip's flags follow those of the command line, and names may begin with a dash.
func TestFlagsOfClips(t *testing.T) {
	var got []string
	b := &run{Options: Options{Flags: []string{"--tile=32", "--sample", "--memory", "2GiB"}, Parse: func(_ int, args []string) (Command, error) {
		got = args
		return nil, nil
	}}}
	_, err := b.parse(0, &Clip{Op: "encode", Model: "m.pth", Options: map[string]any{"tile": json.Number("24"), "sample": false}}, "-o.npy", "-i.mp4")
	require.NoError(t, err)
	require.Equal(t, []string{"encode", "--tile=32", "--sample", "--memory", "2GiB", "--sample=false", "--tile=24", "--model=m.pth", "--output=-o.npy", "--", "-i.mp4"}, got)
	for _, key := range []string{"model", "output", "help"} {
		_, err = b.parse(0, &Clip{Op: "encode", Options: map[string]any{key: "x"}}, "o.npy", "i.mp4")
		require.EqualError(t, err, `option "`+key+`": belongs beside options, not in them`)
	}
}

// A manifest may begin with a byte order mark and have empty lines.
func TestManifestOfWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clips.jsonl")
	lines := "\ufeff" + `{"input":"a.mp4","output":"a.safetensors"}` + "\r\n\r\n" + `{"input":"b.mp4","output":"b.safetensors"}` + "\r\n"
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o600))
	b := &run{Options: Options{Manifest: path}, ctx: t.Context()}
	all, err := b.listed()
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"a.mp4", "b.mp4"}, []string{all[0].Input, all[1].Input})
}

// A manifest that PowerShell wrote in UTF-16 is refused with an explanation, from a file
// and from standard input.
func TestManifestInUTF16(t *testing.T) {
	var text []byte
	for _, c := range "\ufeff" + `{"input":"a.mp4","output":"a.safetensors"}` + "\r\n" {
		text = append(text, byte(c), byte(c>>8))
	}
	path := filepath.Join(t.TempDir(), "clips.jsonl")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	b := &run{Options: Options{Manifest: path}, ctx: t.Context()}
	_, err := b.listed()
	require.EqualError(t, err, "--manifest: "+path+" is UTF-16; save it as UTF-8")
	_, err = b.follow(bytes.NewReader(text))()
	require.EqualError(t, err, "--manifest: standard input is UTF-16; save it as UTF-8")
}
