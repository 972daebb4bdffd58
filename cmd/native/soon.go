package main

import "context"

// soon returns what read does or, where ctx ends first, its error at once: a
// file on a disk that sleeps or a server that is gone can't be waited for then.
// read is left to itself, so it must neither write nor hold what needs closing.
func soon[T any](ctx context.Context, read func() (T, error)) (T, error) {
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
