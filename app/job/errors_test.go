package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// An error keeps its kind however deep it is wrapped.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
		exit int
	}{
		{context.Canceled, "cancelled", ExitInterrupted},
		{gpu.ErrNoLibrary, "no_webgpu", ExitDevice},
		{gpu.ErrNoAdapter, "no_adapter", ExitDevice},
		{ErrNoDevice, "no_adapter", ExitDevice},
		{Mark(gpu.ErrDeviceLost, ErrNoDevice), "no_adapter", ExitDevice},
		{gpu.ErrDeviceLost, "device_lost", ExitFailed},
		{gpu.ErrOutOfMemory, "out_of_memory", ExitMemory},
		{vae.ErrMemory, "out_of_memory", ExitMemory},
		{tiling.ErrBudget, "out_of_memory", ExitMemory},
		{gpu.ErrTooLarge, "too_large", ExitMemory},
		{vae.ErrFlat, "flat", ExitInput},
		{tiling.ErrTile, "bad_option", ExitUsage},
		{tiling.ErrOverlap, "bad_option", ExitUsage},
		{vae.ErrTiling, "bad_option", ExitUsage},
		{BadInput("x"), "bad_input", ExitInput},
		{Mark(media.ErrInput, media.ErrModel), "wrong_model", ExitInput},
		{Mark(media.ErrInput, media.ErrPacked), "packed_size", ExitInput},
		{Mark(media.ErrInput, media.ErrProgram), "program_only", ExitInput},
		{media.ErrInput, "bad_input", ExitInput},
		{vae.ErrLeftOut, "unknown_model", ExitInput},
		{vae.ErrUnknownModel, "failed", ExitFailed}, // Open turns it into an ErrBadModel
		{vae.ErrBadModel, "bad_input", ExitInput},
		{tiling.ErrFrame, "bad_input", ExitInput},
		{media.ErrOutput, "failed", ExitUsage},
		{fs.ErrNotExist, "failed", ExitFailed},
		{errors.New("x"), "failed", ExitFailed},
	} {
		k := KindOf(fmt.Errorf("a: %w", fmt.Errorf("b: %w", c.err)))
		assert.Equal(t, c.code, k.Code, "%v", c.err)
		assert.Equal(t, c.exit, k.Exit, "%v", c.err)
	}
}

// A marked error keeps its text and its cause.
func TestMark(t *testing.T) {
	err := Mark(fmt.Errorf("a: %w", fs.ErrExist), ErrInput)
	require.EqualError(t, err, "a: file already exists")
	require.ErrorIs(t, err, ErrInput)
	require.ErrorIs(t, err, fs.ErrExist)
}

// The page knows all codes and has texts for each in every language.
func TestCodesOfThePage(t *testing.T) {
	codes := map[string]bool{"disconnected": true} // the page's code
	for _, k := range kinds {
		codes[k.Code] = true
	}
	typedef := regexp.MustCompile(`@typedef \{([^}]*)\} Code\b`).FindSubmatch(script(t, "protocol.js"))
	require.NotNil(t, typedef, "protocol.js has no typedef Code")
	assert.Equal(t, codes, words(typedef[1]), "Code of protocol.js")

	delete(codes, "cancelled") // it is not an error
	known := regexp.MustCompile(`(?s)const known = \[(.*?)\]`).FindSubmatch(script(t, "problems.js"))
	require.NotNil(t, known, "problems.js has no list known")
	for code := range codes {
		assert.Contains(t, words(known[1]), code, "known of problems.js")
	}
	languages, err := filepath.Glob("../../web/strings/*.js")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(languages), 2)
	for _, language := range languages {
		text := script(t, "strings/"+filepath.Base(language))
		for code := range words(known[1]) {
			for _, key := range []string{"problem." + code, "problem." + code + ".text"} {
				assert.Regexp(t, `'`+regexp.QuoteMeta(key)+`': '.{5}`, string(text), "%s: %s", language, key)
			}
		}
		for _, m := range regexp.MustCompile(`'problem\.(\w+)`).FindAllSubmatch(text, -1) {
			assert.Contains(t, words(known[1]), string(m[1]), "%s has words for what problems.js doesn't know", language)
		}
	}
}

func script(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../web/" + name)
	require.NoError(t, err)
	return data
}

// words returns the words in quotes.
func words(text []byte) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`'(\w+)'`).FindAllSubmatch(text, -1) {
		all[string(m[1])] = true
	}
	return all
}

// Names of packages are removed from errors, wherever they occur; files of these names
// stay.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"vae: safetensors: z.safetensors: truncated": "z.safetensors: truncated",
		"--tile: tiling: tile 0x0: unusable":         "--tile: tile 0x0: unusable",
		"dawn: no usable adapter: vulkan: gpu: no":   "no usable adapter: vulkan: no",
		"models/vae: is a directory":                 "models/vae: is a directory",
		"ffmpeg: Invalid data":                       "ffmpeg: Invalid data",
		"vae:":                                       "vae:",
		"":                                           "",
	} {
		require.Equal(t, want, Plain(text, "z.safetensors", "z"), text)
	}
	require.Equal(t, "vae: a folder", Plain("media: vae: a folder", "vae"))
}
