//go:build !js

package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tessera/format/file"
	"tessera/format/known"
	"tessera/format/quote"
	"tessera/format/safetensors"
)

const (
	maxIndex  = 100_000_000 // bytes, as for a safetensors header
	maxShards = 1000        // open at once
)

// index is the JSON beside a checkpoint's files, as huggingface_hub's
// split_torch_state_dict_into_shards describes it:
//
//	{"metadata": {"total_size": bytes of all tensors}, "weight_map": {tensor: file}}
type index struct {
	total  *float64 // metadata.total_size; some programs write it with a decimal point
	shards []string // files, sorted
	of     map[string][]string
}

// sharded presents a checkpoint in several files as one file. It reads each tensor from
// its shard.
type sharded struct {
	name    string
	size    int64 // of all shards
	shards  []File
	names   []string
	holders map[string]File
}

// openIndex opens the shards that the index f names, which must be beside it.
func openIndex(f *os.File, path string) (File, error) {
	bad := func(format string, args ...any) error {
		return &ForeignError{path, fmt.Errorf(format, args...)}
	}
	x, err := readIndex(f)
	if err != nil {
		return nil, bad("%w", err)
	}
	s := &sharded{name: path, holders: map[string]File{}}
	var absent []string
	bytes := int64(0)
	for _, name := range x.shards {
		shard, err := openShard(filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			s.Close()
			return nil, bad("%w", x.missing(name, err))
		}
		if err != nil {
			s.Close()
			return nil, bad("shard %s: %w", quote.Name(name), err)
		}
		s.shards = append(s.shards, shard)
		s.size += shard.Size()
		for _, tensor := range x.of[name] {
			t, ok := shard.Tensor(tensor)
			if !ok {
				absent = append(absent, tensor+" in "+name)
			}
			s.holders[tensor] = shard
			bytes += t.Bytes()
		}
		for _, tensor := range shard.Names() {
			if s.holders[tensor] == shard {
				s.names = append(s.names, tensor)
			}
		}
	}
	switch {
	case absent != nil:
		err = bad("%d tensors are not in the shards that it names: %s", len(absent), quote.List(absent, "; "))
	case x.total != nil && *x.total != float64(bytes):
		err = bad("metadata total_size is %s bytes, expected %d, the sum of its tensors: shards are missing or of another checkpoint", strconv.FormatFloat(*x.total, 'f', -1, 64), bytes)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// missing is the error of a shard that is not beside the index.
func (x *index) missing(name string, err error) error {
	all := ""
	if x.total != nil {
		all = ", " + known.Bytes(int64(*x.total)) + " in all"
	}
	return &known.Mistake{
		Is:  fmt.Sprintf("shard %s: %v", quote.Name(name), err),
		Do:  fmt.Sprintf("put the files that it names beside it%s: %s", all, quote.List(x.shards, ", ")),
		Err: err,
	}
}

// openShard opens one shard.
func openShard(path string) (File, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	if isIndex(f) {
		f.Close()
		return nil, errors.New("is another index, expected tensors")
	}
	return take(f, size, path)
}

// readIndex reads an index and checks its names.
func readIndex(f io.Reader) (*index, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxIndex {
		return nil, fmt.Errorf("is an index of more than %d bytes", maxIndex)
	}
	var j struct {
		Metadata struct {
			Total *float64 `json:"total_size"`
		} `json:"metadata"`
		Map weightMap `json:"weight_map"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte(file.ByteOrderMark)), &j); err != nil {
		return nil, fmt.Errorf("is not the index of a checkpoint: %w", err)
	}
	if len(j.Map) == 0 {
		return nil, errors.New("weight_map names no tensor")
	}
	x := &index{total: j.Metadata.Total, of: map[string][]string{}}
	for _, tensor := range slices.Sorted(maps.Keys(j.Map)) {
		name := j.Map[tensor]
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, `\:`) {
			return nil, fmt.Errorf("weight_map has %s in %s, expected the name of a file beside the index", quote.Name(tensor), quote.Name(name))
		}
		x.of[name] = append(x.of[name], tensor)
	}
	if x.shards = slices.Sorted(maps.Keys(x.of)); len(x.shards) > maxShards {
		return nil, fmt.Errorf("weight_map names %d files, expected at most %d", len(x.shards), maxShards)
	}
	return x, nil
}

// weightMap maps a tensor to its file.
type weightMap map[string]string

// UnmarshalJSON refuses a tensor that occurs twice; encoding/json would use the last one.
func (m *weightMap) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("weight_map is not an object, expected the file of each tensor")
	}
	*m = weightMap{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		value, err := d.Token()
		if err != nil {
			return err
		}
		tensor := key.(string) // the decoder allows only strings
		name, ok := value.(string)
		if !ok {
			return fmt.Errorf("weight_map has no file's name for %s", quote.Name(tensor))
		}
		if _, twice := (*m)[tensor]; twice {
			return fmt.Errorf("weight_map has %s twice", quote.Name(tensor))
		}
		(*m)[tensor] = name
	}
	return nil
}

// Name returns the index's path.
func (s *sharded) Name() string { return s.name }

// Size returns the size of all shards.
func (s *sharded) Size() int64 { return s.size }

// Names lists the tensors that the index names, shard by shard.
func (s *sharded) Names() []string { return slices.Clone(s.names) }

// Tensor finds a tensor in its shard.
func (s *sharded) Tensor(name string) (safetensors.Tensor, bool) {
	shard, ok := s.holders[name]
	if !ok {
		return safetensors.Tensor{}, false
	}
	return shard.Tensor(name)
}

// Metadata merges the shards' metadata; if they differ, the first one counts.
func (s *sharded) Metadata() map[string]string {
	all := map[string]string{}
	for _, shard := range slices.Backward(s.shards) {
		maps.Copy(all, shard.Metadata())
	}
	return all
}

// Close closes the shards.
func (s *sharded) Close() error {
	var err error
	for _, shard := range s.shards {
		err = errors.Join(err, shard.Close())
	}
	return err
}

// Files returns the paths of all files of the checkpoint at path: of an index its shards
// and, last, the index itself. A file that cannot be read as an index is the only one.
func Files(path string) []string {
	f, _, err := file.Open(path)
	if err != nil {
		return []string{path}
	}
	defer f.Close()
	if !isIndex(f) {
		return []string{path}
	}
	x, err := readIndex(f)
	if err != nil {
		return []string{path}
	}
	var all []string
	for _, name := range x.shards {
		all = append(all, filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
	}
	return append(all, path)
}

// IndexOf returns, from the name of a file that is one of a checkpoint's n files, the
// name of their index: for model-00001-of-00003.safetensors it is
// model.safetensors.index.json in the same folder. It is "" for other names, and for a
// checkpoint of one file. beside reports whether the index exists.
func IndexOf(path string) (index string, n int, beside bool) {
	ending := filepath.Ext(path)
	stem, of, ok := cutNumber(strings.TrimSuffix(path, ending), "-of-")
	if ok {
		stem, _, ok = cutNumber(stem, "-")
	}
	if !ok || of < 2 {
		return "", 0, false
	}
	index = stem + ending + ".index.json"
	_, err := os.Stat(index)
	return index, of, err == nil
}

// cutNumber cuts a number of five digits, and the text before it, from the end of a name.
func cutNumber(name, before string) (rest string, n int, ok bool) {
	at := len(name) - len("00001")
	if at < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[at:])
	rest, ok = strings.CutSuffix(name[:at], before)
	return rest, n, ok && err == nil && n > 0
}

// Contents are the bytes that identify the checkpoint at path: of an index those of its
// shards, concatenated.
type Contents struct {
	files []*os.File
	ends  []int64 // end of each
}

// ReadContents opens the contents. The caller closes them.
func ReadContents(path string) (*Contents, error) {
	c := &Contents{}
	paths := Files(path)
	if len(paths) > 1 {
		paths = paths[:len(paths)-1]
	}
	for _, path := range paths {
		f, size, err := file.Open(path)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.files, c.ends = append(c.files, f), append(c.ends, c.Size()+size)
	}
	return c, nil
}

// Size returns the number of bytes.
func (c *Contents) Size() int64 {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// ReadAt reads across the files.
func (c *Contents) ReadAt(p []byte, offset int64) (int, error) {
	n := 0
	start := int64(0)
	for i, f := range c.files {
		at := offset + int64(n)
		if at < c.ends[i] && n < len(p) {
			part := p[n:min(int64(len(p)), int64(n)+c.ends[i]-at)]
			read, err := f.ReadAt(part, at-start)
			n += read
			if read < len(part) {
				return n, err
			}
		}
		start = c.ends[i]
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close closes the files.
func (c *Contents) Close() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// inside adds to the error that path is a folder which checkpoint is in it.
func inside(path string, err error) error {
	entries, _ := os.ReadDir(path)
	var found []string
	for _, ending := range []string{".safetensors.index.json", ".bin.index.json", ".safetensors"} {
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ending) && e.Type()&fs.ModeDir == 0 {
				found = append(found, filepath.Join(path, e.Name()))
			}
		}
		if len(found) == 1 {
			return fmt.Errorf("%w: the checkpoint in it is %s", err, quote.Text(found[0]))
		}
	}
	return err
}
