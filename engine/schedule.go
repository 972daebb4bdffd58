package engine

import "slices"

// schedule is what lies in each of an arena's buffers, by batch and time: there may be
// tens of thousands, of a large frame in bands.
type schedule [][]*use

// until is the end of what lies in buffer n before u, in its batch; -1: the buffer is in
// use while u lives.
func (s schedule) until(n int, u *use) int {
	at := s.before(n, u)
	switch {
	case at == 0 || s[n][at-1].batch != u.batch:
		return 0
	case s[n][at-1].till > u.from:
		return -1
	}
	return s[n][at-1].till
}

// before is how many of those in buffer n begin before u ends.
func (s schedule) before(n int, u *use) int {
	at, _ := slices.BinarySearchFunc(s[n], u, func(o, u *use) int {
		if o.batch < u.batch || o.batch == u.batch && o.from < u.till {
			return -1
		}
		return 1
	})
	return at
}

// add puts u into buffer n, which may be a new one.
func (s *schedule) add(n int, u *use) {
	if n == len(*s) {
		*s = append(*s, nil)
	}
	(*s)[n] = slices.Insert((*s)[n], s.before(n, u), u)
}
