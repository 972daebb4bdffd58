package pth

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
)

// zipped returns a file of a pickle and a storage, data/0, of n bytes.
func zipped(pickle []byte, n int, more ...pthtest.Entry) []byte {
	entries := append([]pthtest.Entry{{Name: "a/data.pkl", Data: pthtest.Bytes(pickle)}}, more...)
	return pthtest.Zipped(append(entries, pthtest.Entry{Name: "a/data/0", Data: pthtest.Bytes(make([]byte, n))})...)
}

// store returns data/0 with n elements of F32.
func store(n int) pthtest.Storage {
	return pthtest.Storage{Class: "FloatStorage", Key: "0", Elements: n}
}

// program returns a pickle of instructions.
func program(code string) []byte { return []byte("\x80\x02" + code) }

// view returns the pickle of a dict of one tensor "x".
func view(s pthtest.Storage, offset int, shape, stride []int) []byte {
	return pthtest.NewPickle().Raw("}").String("x").Tensor(s, offset, shape, stride).Raw("s.").Bytes()
}

type badCase struct {
	name   string
	pickle []byte
	want   string
}

const storage24 = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06t"

// badPickles belong to a storage of 24 bytes.
func badPickles() []badCase {
	global := func(module, name string) []byte {
		return program("c" + module + "\n" + name + "\n(X\x02\x00\x00\x00lstR.")
	}
	dup := pthtest.NewPickle().Raw("}(").String("x").Tensor(store(6), 0, []int{6}, []int{1}).
		String("x").Tensor(store(6), 0, []int{6}, []int{1}).Raw("u.").Bytes()
	twice := pthtest.NewPickle().OrderedDict().Raw("(").String("x").Tensor(store(6), 0, []int{6}, []int{1}).
		String("x").Tensor(store(6), 0, []int{6}, []int{1}).Raw("u.").Bytes()
	wrappers := pthtest.NewPickle().Raw("}").String("model").Raw("}s").String("state_dict").Raw("}s.").Bytes()
	shape := func(shape ...int) []byte { return view(store(6), 0, shape, pthtest.Strides(shape)) }
	count := func(op string, n ...byte) []byte { return program(op + string(n)) }
	return []badCase{
		// Code.
		{"os.system", global("os", "system"), `byte 2: it uses "os.system", expected only tensors and containers`},
		{"posix.system", global("posix", "system"), `"posix.system"`},
		{"builtins.eval", global("builtins", "eval"), `"builtins.eval"`},
		{"__builtin__.eval", global("__builtin__", "eval"), `"__builtin__.eval"`},
		{"__builtin__.object, which gopickle has", global("__builtin__", "object"), `"__builtin__.object"`},
		{"copy_reg._reconstructor, which gopickle has", global("copy_reg", "_reconstructor"), `"copy_reg._reconstructor"`},
		{"Collections.OrderedDict", global("Collections", "OrderedDict"), `"Collections.OrderedDict"`},
		{"builtins.getattr", global("builtins", "getattr"), `"builtins.getattr"`},
		{"subprocess.Popen", global("subprocess", "Popen"), `"subprocess.Popen"`},
		{"a class of the user's", global("__main__", "Model"), `"__main__.Model"`},
		{"torch.load", global("torch", "load"), `"torch.load"`},
		{"a dotted name", global("torch._utils", "_rebuild_tensor_v2.__globals__"), `_rebuild_tensor_v2.__globals__"`},
		{"a name with a space", global("torch", "FloatStorage "), `"torch.FloatStorage "`},
		{"code under a tensor's name", pthtest.NewPickle().Raw("}").String("x").Global("os.system").Raw("(").String("ls").Raw("tRs.").Bytes(), `"os.system"`},
		{"code behind the dict", append(shape(6)[:len(shape(6))-1], "cos\nsystem\n."...), `"os.system"`},
		{"an endless global", program("c" + strings.Repeat("x", 5000)), "has no end within 512 bytes"},
		{"a global of one line", program("ctorch\n."), "has no end within"},
		{"INST", program("(ios\nsystem\n."), "instruction 0x69"},
		{"OBJ", program("(o."), "instruction 0x6f"},
		{"STACK_GLOBAL", program("X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93."), "instruction 0x93"},
		{"NEWOBJ", program("ccollections\nOrderedDict\n)\x81."), "instruction 0x81"},
		{"EXT1", program("\x82\x01."), "instruction 0x82"},
		// Calls.
		{"nested reduce", program("ccollections\nOrderedDict\n" + strings.Repeat(")R", 9) + "."), ""},
		{"reduce of a list", program("])R."), ""},
		{"reduce of a tensor", pthtest.NewPickle().Tensor(store(6), 0, []int{6}, []int{1}).Raw(")R.").Bytes(), ""},
		{"reduce of a dict", program("}}s)R."), ""},
		{"reduce without a tuple", program("ccollections\nOrderedDict\n}R."), ""},
		{"OrderedDict of itself", program("ccollections\nOrderedDict\n)Rq\x00ccollections\nOrderedDict\nh\x00\x85R."), "OrderedDict is called with 1 arguments, expected 0"},
		{"tensor of nothing", program("ctorch._utils\n_rebuild_tensor_v2\n)R."), "_rebuild_tensor_v2 is called with 0 arguments, expected 6 or 7"},
		{"typed tensor of an element type", program("ctorch._utils\n_rebuild_tensor_v3\n(" + storage24 + "QK\x00))\x89}ctorch\nfloat8_e5m2\ntR."), "_rebuild_tensor_v3 is called with (a storage, 0, a tuple of 0, a tuple of 0, a boolean, a dict, a class or function), expected an untyped storage and a type of elements"},
		{"tensor v3 of six", program("ctorch._utils\n_rebuild_tensor_v3\n(NNNNNNtR."), "_rebuild_tensor_v3 is called with 6 arguments, expected 7 or 8"},
		{"tensor of four", program("ctorch._utils\n_rebuild_tensor_v2\n(" + storage24 + "QK\x00))tR."), "is called with 4 arguments"},
		{"tensor of Nones", program("ctorch._utils\n_rebuild_tensor_v2\n(NNNNNNtR."), "_rebuild_tensor_v2 is called with (None, None, None, None), expected a storage"},
		{"tensor of floats", program("ctorch._utils\n_rebuild_tensor_v2\n(" + storage24 + "QK\x00G\x40\x00\x00\x00\x00\x00\x00\x00)\x89}tR."), "called with (a storage, 0, a float, a tuple of 0)"},
		{"rank 65", view(store(6), 0, make([]int, 65), make([]int, 65)), "two tuples of at most 64 integers"},
		{"parameter of a dict", program("ctorch._utils\n_rebuild_parameter\n(}\x89}tR."), "_rebuild_parameter is called with (a dict, a boolean, a dict)"},
		{"build on a list", program("]}b."), ""},
		{"build on a tensor", pthtest.NewPickle().Raw("}").String("x").Tensor(store(6), 0, []int{6}, []int{1}).Raw("}bs.").Bytes(), ""},
		{"storage by name", program("Pos.system\n."), "instruction 0x50"},
		{"storage by number", program("K\x01Q."), "persistent id is 1, expected a tuple"},
		{"storage without location", program("(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000tQ."), "persistent id is a tuple of 3"},
		{"storage of strings", program("(X\x07\x00\x00\x00storageX\x01\x00\x00\x00fX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ."), "persistent id has (the string"},
		// Counts.
		{"BINBYTES8", count("\x8e", 0, 0, 0, 0, 1, 0, 0, 0), "instruction 0x8e"},
		{"BINUNICODE8", count("\x8d", 0, 0, 0, 0, 1, 0, 0, 0), "instruction 0x8d"},
		{"BYTEARRAY8", count("\x96", 0, 0, 0, 0, 1, 0, 0, 0), "instruction 0x96"},
		{"FRAME", count("\x95", 0, 0, 0, 0, 1, 0, 0, 0), "instruction 0x95"},
		{"LONG4", count("\x8b", 0xff, 0xff, 0xff, 0x7f), "instruction 0x8b"},
		{"LONG of digits", program("L" + strings.Repeat("9", 5000) + "L\n."), "instruction 0x4c"},
		{"LONG1 of nothing", count("\x8a", 0, '.'), "integer of 0 bytes, expected 1 to 8"},
		{"LONG1 of 9 bytes", count("\x8a", 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, '.'), "integer of 9 bytes, expected 1 to 8"},
		{"BINUNICODE of 4 GiB", count("X", 0xff, 0xff, 0xff, 0xff, 'a'), "4294967295 bytes needed, the pickle has 1 more"},
		{"BINSTRING", count("T", 0xff, 0xff, 0xff, 0x7f), "instruction 0x54"},
		{"string that is no text", count("X", 1, 0, 0, 0, 0xff, '.'), "is not UTF-8"},
		{"far memo number", program("}r\xff\xff\xff\xff."), "memo number 4294967295, expected 0"},
		{"skipped memo number", program("}q\x00q\x02."), "memo number 2, expected 1"},
		{"empty memo", program("h\x00."), "memo number 0 does not exist, there are 0"},
		{"put of nothing", program("q\x00."), ""},
		{"marks", program(strings.Repeat("(", 100000)), "marks nest deeper than 16"},
		{"open mark", program("}(."), "ends with 1 open marks"},
		{"no mark", program("}u."), "without a mark"},
		{"marks of tuples", program(strings.Repeat("(", 10) + strings.Repeat("t", 11) + "."), "without a mark"},
		// Containers.
		{"a key without a value", program("}(K\x01u."), ""},
		{"items for a tuple", program("](K\x01K\x02u."), ""},
		{"append to a dict", program("}K\x01a."), ""},
		{"nothing appended to a dict", program("}(e."), ""},
		{"nothing set in a list", program("](u."), ""},
		{"pairs for a list", program("](K\x01K\x02K\x03K\x04u."), ""},
		{"set item of nothing", program("}s."), ""},
		{"nothing left", program("."), ""},
		{"a list", program("]."), "it holds a list, expected a dict of tensors"},
		{"None", program("N."), "it holds None, expected a dict of tensors"},
		{"a dict in itself", program("}q\x00X\x01\x00\x00\x00xh\x00s."), `the dict has a dict for "x", expected tensors only`},
		{"a dict as its state_dict", program("}q\x00X\x0a\x00\x00\x00state_dicth\x00s."), `state_dict has a dict for "state_dict"`},
		{"a list in itself", program("]q\x00h\x00a."), "it holds a list"},
		{"a dict as its own key", program("}q\x00h\x00h\x00s."), "the dict has the key a dict"},
		{"an OrderedDict as its own key", program("ccollections\nOrderedDict\n)Rq\x00h\x00h\x00s."), "the dict has the key a dict"},
		{"a list as a key", program("ccollections\nOrderedDict\n)R]Ns."), "the dict has the key a list"},
		{"numbers as keys", program("}K\x01Ns."), "the dict has the key 1, expected names"},
		{"a number as a tensor", program("}X\x01\x00\x00\x00xK\x05s."), `the dict has 5 for "x", expected tensors only`},
		{"two wrappers", wrappers, "it holds the dicts model and state_dict, expected one of them"},
		{"a name twice", dup, `has the tensor "x" twice`},
		{"a name twice in an OrderedDict", twice, `has the tensor "x" twice`},
		// Ends.
		{"empty", nil, "byte 0: 1 bytes needed, the pickle has 0 more: truncated"},
		{"only its protocol", program(""), "byte 2: 1 bytes needed"},
		{"no protocol", []byte("}."), "begins with 0x7d, expected 0x80"},
		{"protocol 0", []byte("(dp0\n."), "begins with 0x28"},
		{"protocol 5", []byte("\x80\x05}."), "pickle protocol 5, expected 2"},
		{"protocol twice", program("\x80\x02}."), "at the start only"},
		{"bytes behind", program("}.}."), "the pickle ends here, but 2 bytes follow"},
		{"too many instructions", program(strings.Repeat("N0", maxInstructions)[:2*maxInstructions]), "instruction 0x30"},
		{"instructions without end", program(strings.Repeat("N", maxInstructions) + "."), fmt.Sprintf("more than %d instructions", maxInstructions)},
		// Storages.
		{"storage missing", view(pthtest.Storage{Class: "FloatStorage", Key: "1", Elements: 6}, 0, []int{6}, []int{1}), `tensor "x": storage data/1: is missing from the zip`},
		{"storage of another folder", view(pthtest.Storage{Class: "FloatStorage", Key: "../data.pkl", Elements: 6}, 0, []int{6}, []int{1}), "is missing from the zip"},
		{"too few elements", view(store(5), 0, []int{5}, []int{1}), `tensor "x": storage data/0: has 24 bytes, expected 5 elements of 4`},
		{"too many elements", view(store(7), 0, []int{7}, []int{1}), "has 24 bytes, expected 7 elements of 4"},
		{"elements past 2^63", view(store(math.MaxInt), 0, []int{6}, []int{1}), "has 24 bytes, expected 9223372036854775807 elements of 4"},
		{"negative elements", view(store(-6), 0, []int{6}, []int{1}), "has 24 bytes, expected -6 elements of 4"},
		{"another type", view(pthtest.Storage{Class: "DoubleStorage", Key: "0", Elements: 6}, 0, []int{6}, []int{1}), "has 24 bytes, expected 6 elements of 8"},
		{"beyond the storage", shape(7), `tensor "x": shape [7] from element 0 on, but storage data/0 has 6`},
		{"offset beyond", view(store(6), 5, []int{2}, []int{1}), "shape [2] from element 5 on, but storage data/0 has 6"},
		{"offset far beyond", view(store(6), math.MaxInt, []int{2}, []int{1}), "from element 9223372036854775807 on"},
		{"negative offset", view(store(6), -1, []int{2}, []int{1}), "from element -1 on"},
		{"negative size", view(store(6), 0, []int{-2, -3}, []int{3, 1}), `tensor "x": shape [-2 -3] has a negative dimension`},
		{"size overflow", shape(1<<32, 1<<32), `tensor "x": shape [4294967296 4294967296] has more than 2^64 elements`},
		{"bytes overflow", shape(1<<31, 1<<31), "beyond 2^63 bits"},
		{"transposed", view(store(6), 0, []int{2, 3}, []int{1, 2}), "shape [2 3] has strides [1 2], expected [3 1]"},
		{"expanded", view(store(1), 0, []int{2}, []int{0}), "has 24 bytes"},
		{"expanded rows", view(store(6), 0, []int{2, 3}, []int{0, 1}), "strides [0 1], expected [3 1]"},
		{"negative stride", view(store(6), 5, []int{1, 6}, []int{0, -1}), "from element 5 on"},
		{"stride missing", view(store(6), 0, []int{2, 3}, []int{1}), "strides [1], expected [3 1]"},
	}
}

func TestRefused(t *testing.T) {
	for _, c := range badPickles() {
		t.Run(c.name, func(t *testing.T) {
			b := zipped(c.pickle, 24)
			both(t, func(t *testing.T, u unpickler) {
				_, err := open(b, u)
				refused(t, err, c.want)
			})
		})
	}
}

// Odd but valid files.
func TestAccepted(t *testing.T) {
	for name, pickle := range map[string][]byte{
		"nothing":                      program("}."),
		"empty":                        view(store(6), 6, []int{0, 1 << 40}, []int{7, 7}),
		"stride of a dimension of one": view(store(6), 3, []int{1, 3, 1}, []int{99, 1, -5}),
		"memo number again":            program("}q\x00q\x00h\x00."),
		"other dicts beside":           pthtest.NewPickle().Raw("}").String("optimizer").Raw("}s").String("model").Raw("}s.").Bytes(),
	} {
		both(t, func(t *testing.T, u unpickler) {
			_, err := open(zipped(pickle, 24), u)
			assert.NoError(t, err, name)
		})
	}
}

// A state_dict is found in the dicts around it: by trainers' names, as the only one with
// tensors, or of several as the one named after a VAE.
func TestNestedDicts(t *testing.T) {
	leaf := func(p *pthtest.Pickle, name string) *pthtest.Pickle {
		return p.Raw("}").String(name).Tensor(store(6), 0, []int{6}, []int{1}).Raw("s")
	}
	in := func(keys ...string) []byte { // "a" begins a dict under a name, "=x" is a tensor in it, "/" ends it
		p := pthtest.NewPickle().Raw("}")
		for _, k := range keys {
			switch {
			case k == "/":
				p.Raw("s")
			case k[0] == '=':
				leaf(p, k[1:])
			case k[0] == '#': // a dict with numbers as keys, as optimizers store their moments
				p.Raw("}K\x00")
				leaf(p, k[1:]).Raw("s")
			case k[0] == '+':
				p.Raw("}").String(k[1:])
			default:
				p.String(k)
			}
		}
		return p.Raw(".").Bytes()
	}
	for name, c := range map[string]struct {
		pickle []byte
		want   []string
		says   string
	}{
		"a VAE's":           {in("vae", "=x", "/"), []string{"x"}, ""},
		"any name":          {in("generator", "=x", "/"), []string{"x"}, ""},
		"two deep":          {in("state_dict", "+vae", "=x", "/", "/"), []string{"x"}, ""},
		"beside another":    {in("text_encoder", "=y", "/", "vae", "=x", "/"), []string{"x"}, ""},
		"beside moments":    {in("optimizer", "#y", "/", "ema", "=x", "/"), []string{"x"}, ""},
		"a generator":       {in("gen_model", "=x", "/", "dis_model", "=y", "/"), []string{"x"}, ""},
		"one of two":        {in("a", "=x", "/", "b", "=y", "/"), nil, "it holds the dicts a and b, expected one of them"},
		"a trainer's first": {in("vae", "=y", "/", "state_dict", "=x", "/"), []string{"x"}, ""},
	} {
		both(t, func(t *testing.T, u unpickler) {
			f, err := open(zipped(c.pickle, 24), u)
			if c.says != "" {
				require.ErrorContains(t, err, c.says, name)
				return
			}
			require.NoError(t, err, name)
			require.Equal(t, c.want, f.Names(), name)
		})
	}
}

// patched replaces the bytes after the last (or first) mark.
func patched(b []byte, mark string, at int, with ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[bytes.LastIndex(b, []byte(mark))+at:], with)
	return b
}

func TestRefusedZip(t *testing.T) {
	pickle := view(store(6), 0, []int{6}, []int{1})
	good := zipped(pickle, 24)
	_, err := open(good, unpickle)
	require.NoError(t, err)
	const directory, end = "PK\x01\x02", "PK\x05\x06" // the last entry of the directory is data/0
	text := func(s string) func() []byte { return func() []byte { return []byte(s) } }
	entry := func(name, text string) pthtest.Entry {
		return pthtest.Entry{Name: name, Data: pthtest.Bytes([]byte(text))}
	}
	deflated := pthtest.Entry{Name: "a/data/1", Method: zip.Deflate, Data: pthtest.Bytes(make([]byte, 4<<20))}
	one := view(pthtest.Storage{Class: "FloatStorage", Key: "1", Elements: 1 << 20}, 0, []int{1 << 20}, []int{1})
	tar := make([]byte, 1024)
	copy(tar[257:], "ustar\x0000")
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, `begins with "", expected a zip`},
		{"a safetensors file", text("\x02\x00\x00\x00\x00\x00\x00\x00{}")(), "expected a zip as torch.save writes it"},
		{"a tar of torch 0.1", tar, "before version 1.6"},
		{"a zip's start", good[:40], "has no end record: truncated"},
		{"no data.pkl", pthtest.Zipped(entry("a/data/0", "")), "0 entries */data.pkl, expected 1"},
		{"data.pkl without a folder", pthtest.Zipped(entry("data.pkl", "\x80\x02}.")), "0 entries */data.pkl"},
		{"two of data.pkl", zipped(pickle, 24, entry("b/data.pkl", "")), "2 entries */data.pkl, expected 1"},
		{"TorchScript", zipped(pickle, 24, entry("a/constants.pkl", "")), "TorchScript archive, expected tensors"},
		{"big-endian", zipped(pickle, 24, entry("a/byteorder", "big")), `byte order is "big", expected little`},
		{"long byteorder", zipped(pickle, 24, entry("a/byteorder", strings.Repeat("x", 17))), "byteorder has 17 bytes, expected at most 16"},
		{"an entry twice", zipped(pickle, 24, entry("a/x", "1"), entry("a/x", "2")), `"a/x" appears twice`},
		{"compressed storage", zipped(one, 24, deflated), `tensor "x": storage data/1: is compressed (method 8), expected stored`},
		{"compressed pickle", pthtest.Zipped(pthtest.Entry{Name: "a/data.pkl", Method: zip.Deflate, Data: pthtest.Bytes(pickle)}), "data.pkl: is compressed (method 8)"},
		{"pickle too large", pthtest.Zipped(entry("a/data.pkl", strings.Repeat("N", maxPickle+1))), "data.pkl has 4194305 bytes, expected at most 4194304"},
		{"storage missing", pthtest.Zipped(entry("a/data.pkl", string(pickle))), "storage data/0: is missing"},
		{"encrypted", patched(good, directory, 8, 1, 0), "is encrypted"},
		{"size said", patched(good, directory, 24, 0xff, 0xff, 0xff, 0x7f), "is stored in 24 bytes, expected 2147483647"},
		{"both sizes said", patched(good, directory, 20, 0, 0, 0, 0x7f, 0, 0, 0, 0x7f), `"a/data/0" has 2130706432 bytes at`},
		{"size by a few bytes", patched(good, directory, 20, 0, 2, 0, 0, 0, 2, 0, 0), "truncated"},
		{"on the entry before", patched(good, directory, 42, 1, 0, 0, 0), `"a/data/0" begins at byte 1, expected`},
		{"far off", patched(good, directory, 42, 0xfe, 0xff, 0xff, 0x7f), "truncated"},
		{"no local header", patched(good, directory, 42, byte(bytes.LastIndex(good, []byte("PK\x03\x04"))+1)), "expected the local header of"},
		{"another's local header", patched(good, "PK\x03\x04", localLen, 'b'), `expected the local header of "a/data/0"`},
		{"entries said", patched(good, end, 10, 9, 0), "directory has 2 entries, expected 9 as its end says"},
		{"directory's length", patched(good, end, 12, 0xff, 0xff, 0xff, 0x7f), "directory has 2147483647 bytes, expected at most"},
		{"directory's length by one", patched(good, end, 12, byte(2*(entryLen)+10+8+5)), ""},
		{"directory's offset", patched(good, end, 16, 0xff, 0xff, 0xff, 0x7f), "truncated, or no zip"},
		{"parts", patched(good, end, 4, 1, 0), "in several parts"},
		{"elements whose bytes wrap to none", zipped(view(store(-1<<62), 0, []int{0}, []int{1}), 0), "has 0 bytes, expected -4611686018427387904 elements of 4"},
		{"padding over the end", patched(good, "PK\x03\x04", 28, 0xff, 0xff), "storage data/0: 24 bytes at 65"},
		{"name over the end", patched(good, directory, 28, 0xff, 0xff), "has 65623 bytes, the directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(c.file, unpickle)
			refused(t, err, c.want)
		})
	}
}

// A file truncated anywhere is refused.
func TestTruncated(t *testing.T) {
	for _, file := range []string{"ordered", "plain"} {
		b, err := os.ReadFile(filepath.Join("testdata", file+".pth"))
		require.NoError(t, err)
		for n := range b {
			_, err := open(b[:n], evaluate)
			assert.Error(t, err, "%s: %d bytes of %d", file, n, len(b))
		}
	}
}

// end64 ends a file with the 64-bit records of e.
func end64(b []byte, e end) []byte {
	at := bytes.LastIndex(b, []byte("PK\x05\x06"))
	out := bytes.Clone(b[:at])
	record := append([]byte("PK\x06\x06\x2c\x00\x00\x00\x00\x00\x00\x00\x2d\x00\x2d\x00"), make([]byte, 8)...)
	for _, v := range []int64{e.entries, e.entries, e.length, e.offset} {
		record = binary.LittleEndian.AppendUint64(record, uint64(v))
	}
	out = append(out, record...)
	out = append(out, "PK\x06\x07\x00\x00\x00\x00"...)
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	out = append(out, 1, 0, 0, 0)
	return append(out, "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"...)
}

// Files over 4 GiB have 64-bit records; torch always writes them.
func TestZip64(t *testing.T) {
	b := zipped(view(store(6), 0, []int{6}, []int{1}), 24)
	begin := int64(bytes.Index(b, []byte("PK\x01\x02")))
	e := end{entries: 2, offset: begin, length: int64(bytes.LastIndex(b, []byte("PK\x05\x06"))) - begin}
	_, err := open(end64(b, e), unpickle)
	require.NoError(t, err)
	for want, bad := range map[string]end{
		"directory has 2 entries, expected 3 as its end says":          {e.offset, e.length, 3},
		"directory has -1 bytes, expected at most 4194304":             {e.offset, -1, 2},
		"bytes at -1, but the file has":                                {-1, e.length, 2},
		"directory has 9223372036854775807 bytes, expected at most 41": {e.offset, math.MaxInt64, 2},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := open(end64(b, bad), unpickle)
			refused(t, err, want)
		})
	}
	moved := end64(b, e)
	for want, bad := range map[string][]byte{
		"64-bit end record begins with":          patched(moved, "PK\x06\x07", 8, 0, 0),
		"64-bit end record: 56 bytes at":         patched(moved, "PK\x06\x07", 8, 0xff, 0xff, 0xff),
		"64-bit end record: 56 bytes at -1, but": patched(moved, "PK\x06\x07", 8, bytes.Repeat([]byte{0xff}, 8)...),
		"has 24 bytes, expected 9 elements of 4": end64(zipped(view(store(9), 0, []int{9}, []int{1}), 24), e),
	} {
		t.Run(want, func(t *testing.T) {
			_, err := open(bad, unpickle)
			refused(t, err, want)
		})
	}
	z := zipEntry{name: "x", size: 0xffffffff, packed: 0xffffffff, header: 0xffffffff}
	extra := "FB\x02\x00ZZ\x01\x00\x18\x00"
	for _, v := range []uint64{5 << 32, 6 << 32, 7 << 32} {
		extra += string(binary.LittleEndian.AppendUint64(nil, v))
	}
	require.NoError(t, z.widen(extra))
	require.Equal(t, [3]int64{5 << 32, 6 << 32, 7 << 32}, [3]int64{z.size, z.packed, z.header})
	z.size = 0xffffffff
	require.Error(t, z.widen("\x01\x00\x08\x00"+strings.Repeat("\xff", 8)), "%+v", z)
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The most expensive pickles that walk accepts, and files that promise more than they
// contain.
func TestHostileIsBounded(t *testing.T) {
	deep := "N" + strings.Repeat("\x85", maxInstructions-3)
	laughs := ")" + strings.Repeat("q\x00h\x00h\x00\x87", 1<<16-2)
	ordered := "ccollections\nOrderedDict\nq\x00(" + strings.Repeat("h\x00)R", (maxInstructions-10)/3) + "t."
	huge := view(store(6), 0, []int{6}, []int{1})
	far := zipped(huge, 24)
	for name, c := range map[string]struct {
		file  []byte
		bound uint64 // in bytes
	}{
		"dicts":                 {zipped(program("]("+strings.Repeat("}", maxInstructions-5)+"e."), 24), 128 << 20},
		"lists":                 {zipped(program("]("+strings.Repeat("]", maxInstructions-5)+"e."), 24), 128 << 20},
		"OrderedDicts":          {zipped(program(ordered), 24), 128 << 20},
		"marks":                 {zipped(program(strings.Repeat("(t", maxInstructions/2-2)+"."), 24), 128 << 20},
		"deep tuples":           {zipped(program(deep+"."), 24), 128 << 20},
		"tuples of tuples":      {zipped(program(laughs+"."), 24), 128 << 20},
		"memo":                  {zipped(program("]"+strings.Repeat("q\x00h\x00", maxInstructions/2-3)+"."), 24), 128 << 20},
		"a long string":         {zipped(program("}X\x00\x00\x3f\x00"+strings.Repeat("x", 0x3f0000)+"Ns."), 24), 100 << 20},
		"a long name in a call": {zipped(program("X\x00\x00\x3f\x00"+strings.Repeat("x", 0x3f0000)+")R."), 24), 100 << 20},
		"a huge storage":        {patched(far, "PK\x01\x02", 20, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f), 1 << 20},
		"a huge directory":      {patched(far, "PK\x05\x06", 12, 0xff, 0xff, 0x3f, 0), 1 << 20},
	} {
		both(t, func(t *testing.T, u unpickler) {
			var err error
			got := allocated(func() { _, err = open(c.file, u) })
			t.Logf("%s: %d bytes of file, %d allocated", name, len(c.file), got)
			require.Error(t, err, name)
			require.LessOrEqual(t, len(err.Error()), 1000, "%s: bytes of error", name)
			require.LessOrEqual(t, got, c.bound, "%s: bytes allocated", name)
		})
	}
	// The size is larger than what the reader has.
	var err error
	got := allocated(func() { _, err = Read(bytes.NewReader(far), 1<<40, "lie") })
	require.Error(t, err, "a file cut short is accepted")
	require.LessOrEqual(t, got, uint64(1<<20), "bytes allocated for a file of %d", len(far))
}

// Opening a large file reads little of it, and so does reading a window.
func TestReadsByRange(t *testing.T) {
	const n = 4 << 20
	b := zipped(view(store(n), 0, []int{n}, []int{1}), 4*n)
	got := allocated(func() {
		f, err := open(b, unpickle)
		require.NoError(t, err)
		x, _ := f.Tensor("x")
		require.NoError(t, x.ReadF32(make([]float32, 1000), n-1000))
	})
	require.LessOrEqual(t, got, uint64(1<<20), "bytes allocated to read 1000 elements of %d", n)
}
