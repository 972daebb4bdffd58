package engine

import "slices"

// schedule lists the uses of each arena buffer, by batch and time. A large frame in bands
// has tens of thousands of uses.
type schedule [][]*use

// until returns the end of the last use of buffer n before u, in its batch; -1 if the
// buffer is in use during u.
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

// before returns the number of uses of buffer n that begin before u ends.
func (s schedule) before(n int, u *use) int {
	at, _ := slices.BinarySearchFunc(s[n], u, func(o, u *use) int {
		if o.batch < u.batch || o.batch == u.batch && o.from < u.till {
			return -1
		}
		return 1
	})
	return at
}

// add assigns u to buffer n, which may be new.
func (s *schedule) add(n int, u *use) {
	if n == len(*s) {
		*s = append(*s, nil)
	}
	(*s)[n] = slices.Insert((*s)[n], s.before(n, u), u)
}
