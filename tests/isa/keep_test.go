package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a listing only each shader's last form is kept, and of a failed command its last
// lines.
func TestKeep(t *testing.T) {
	folder := t.TempDir()
	long, kept := filepath.Join(folder, "long.txt"), filepath.Join(folder, "kept.txt")
	text := "a driver's words\n" + strings.ReplaceAll(nak, "NAK IR:\n", "a pass\nNAK IR after a pass:\n") + "\n" + anv[strings.Index(anv, shaderMark):]
	require.NoError(t, os.WriteFile(long, []byte(text), 0o600))
	require.NoError(t, keep(kept, []string{"sh", "-c", "cat " + long + " >&2"}))
	short, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.NotContains(t, string(short), "a driver's words")
	require.NotContains(t, string(short), "a pass")
	wantAdapter, want := parse(text)
	adapter, shaders := parse(string(short))
	require.Equal(t, wantAdapter, adapter)
	require.Equal(t, want, shaders)

	require.EqualError(t, keep(kept, []string{"sh", "-c", "echo no card >&2; exit 3"}), "sh -c echo no card >&2; exit 3: exit status 3: no card\n")
}

// A page keeps the sections of cards that have no new listing.
func TestPage(t *testing.T) {
	folder := t.TempDir()
	page, head := filepath.Join(folder, "isa.md"), filepath.Join(folder, "head.md")
	ada, arc := filepath.Join(folder, "ada.txt"), filepath.Join(folder, "arc.txt")
	for file, text := range map[string]string{head: "# Head\n", ada: nak, arc: anv} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	require.NoError(t, writePage(page, head, "Commit 1.", []string{arc}))
	require.NoError(t, writePage(page, head, "Commit 2.", []string{ada}))
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, `# Head

## RTX 4090: NVK, Mesa 26

Commit 2.

| shader | layer | kernel | storage | registers | waves | local bytes | inner loop | multiply-adds | matrix | at most TFLOP/s |
|---|---|---|---|---|---|---|---|---|---|---|
| pointwise | 1 tap | tiled | packed | 136 | 12 | 256 | 9 | 0.11 | 0.11 | 165 |

## Arc A770: Arc, Mesa 26

Commit 1.

| shader | layer | kernel | storage | registers | SIMD | spills | inner loop | multiply-adds | matrix | at most TFLOP/s |
|---|---|---|---|---|---|---|---|---|---|---|
| conv3d | 3 taps | **plain** | f16 | 128 | 32 | 744 | 9 | 0.22 | 0.11 |  |
`, string(got))

	other := filepath.Join(folder, "other.txt")
	require.NoError(t, os.WriteFile(other, []byte(nak), 0o600))
	require.EqualError(t, writePage(page, head, "Commit 3.", []string{other}), other+": no card of this name")
}
