//go:build !js

package dawn

// withNew appends the adapters of found that list lacks, and releases the others. An id
// occurs in the result as often as in the longer of both: two equal cards have one id.
func withNew(list, found []*adapter) []*adapter {
	known := map[string]int{}
	for _, a := range list {
		known[a.id]++
	}
	for _, a := range found {
		if known[a.id] > 0 {
			known[a.id]--
			a.release()
			continue
		}
		a.info.Index = len(list)
		list = append(list, a)
	}
	return list
}
