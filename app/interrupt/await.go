package interrupt

import (
	"context"
	"fmt"
	"io"
	"os"
)

// Await returns what read returns, or ctx's error as soon as ctx ends: a read from a
// sleeping disk or a lost server cannot be interrupted. read then continues unattended,
// so it must not write, nor hold anything that needs closing.
func Await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// maxSmall limits a file of tokens or of a certificate, in bytes.
const maxSmall = 1 << 20

// ReadSmall reads a small file, also from a pipe, which may carry a secret.
func ReadSmall(ctx context.Context, path string) ([]byte, error) {
	return Await(ctx, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
		if err == nil && len(text) > maxSmall {
			err = fmt.Errorf("%s: more than %d bytes, expected at most %[2]d", path, maxSmall)
		}
		return text, err
	})
}
