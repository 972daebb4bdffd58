package runner

import "tessera/engine"

// memorySpool is a spool in memory, because a page has no files.
type memorySpool struct{ b []byte }

func newSpool(size int64) (engine.Spool, error) { return &memorySpool{make([]byte, size)}, nil }

func (s *memorySpool) ReadAt(p []byte, at int64) (int, error)  { return copy(p, s.b[at:]), nil }
func (s *memorySpool) WriteAt(p []byte, at int64) (int, error) { return copy(s.b[at:], p), nil }
func (s *memorySpool) Close() error                            { return nil }
