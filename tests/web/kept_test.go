package web

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKeptIsTakenUp: the checkpoint that a visitor chose last is there again
// after a reload, until another was chosen or it was removed.
func TestKeptIsTakenUp(t *testing.T) {
	v := newSite(t)
	v.open("?demo=2x6x6", "")
	v.ready()
	data, err := os.ReadFile(model)
	require.NoError(t, err)
	own := filepath.Join(t.TempDir(), "mine.safetensors")
	require.NoError(t, os.WriteFile(own, data, 0o666))
	v.pick("model-file", own)
	v.wait("the copy", time.Minute, `(async () => {
		const dir = await (await navigator.storage.getDirectory()).getDirectoryHandle('checkpoints', {create: true});
		return Array.fromAsync(dir.keys()).then((names) => names.join() === 'mine.safetensors');
	})()`)
	again := func(want string) {
		eval[bool](t, v.tab, `(setTimeout(() => location.reload(), 100), true)`)
		time.Sleep(time.Second)
		v.ready()
		assert.Equal(t, want, v.text("model-name"))
	}
	again("mine")
	v.click("#kept button.link")
	v.wait("the built-in checkpoint", time.Minute, `document.getElementById('model-name').textContent === 'tiny-seedvr2'`)
	again("tiny-seedvr2")
}
