//go:build !js

package dawn

// requestAdapters requests one kind of adapter. It returns the adapter that Dawn prefers
// or, where this library can tell equal cards apart, every adapter of the backend.
func (in *instance) requestAdapters(o requestAdapterOptions) ([]*adapter, error) {
	first, err := in.requestAdapter(o)
	if err != nil {
		return nil, err
	}
	all := in.everyAdapter(o)
	if len(all) == 0 {
		return []*adapter{first}, nil
	}
	first.release()
	return all, nil
}

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
