package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/interrupt"
	"tessera/app/job"
)

// A manifest that is not a regular file is refused without waiting. A token or
// certificate without an end is not read forever, and does not delay the program's end.
func TestThingsForFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	write(t, filepath.Join(dir, "index.html"), nil)
	sparse := filepath.Join(dir, "sparse")
	write(t, sparse, nil)
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Skipf("no sparse file: %v", err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"batch", "-m", tiny, "--manifest", pipe}, job.ExitUsage, "pipe: a named pipe, not a regular file; --manifest - reads standard input"},
		{[]string{"batch", "-m", tiny, "--manifest", "/dev/zero"}, job.ExitUsage, "/dev/zero: a device, not a regular file"},
		{[]string{"batch", "-m", tiny, "--manifest", sparse}, job.ExitUsage, "sparse has 1099511627776 bytes, expected at most 268435456"},
		{[]string{"serve", "--page", dir, "--token-file", "/dev/zero"}, job.ExitInput, "/dev/zero: more than 1048576 bytes, expected at most 1048576"},
		{[]string{"serve", "--page", dir, "--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"}, job.ExitInput, "/dev/zero: more than 1048576 bytes, expected at most 1048576"},
	} {
		o := tessera(t, c.args...)
		assert.Equal(t, c.code, o.code, c.args)
		assert.Contains(t, o.stderr, c.says)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := interrupt.ReadSmall(ctx, pipe)
	require.ErrorIs(t, err, context.Canceled)
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that a waiting reader ends
	require.NoError(t, err)
	require.NoError(t, f.Close())
	another := filepath.Join(dir, "another")
	require.NoError(t, syscall.Mkfifo(another, 0o600))
	go func() {
		_ = os.WriteFile(another, []byte("0123456789abcdef"), 0o600) // waits for a reader
	}()
	text, err := interrupt.ReadSmall(t.Context(), another)
	require.NoError(t, err)
	assert.Equal(t, "0123456789abcdef", string(text))
}
