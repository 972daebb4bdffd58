//go:build linux

package faults

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
)

// madeHostile caches hostileFiles, whose bombs take seconds to create.
var madeHostile map[string]func(path string) error

// hostileFiles returns functions that create harmful files, by name.
func hostileFiles(t *testing.T) map[string]func(path string) error {
	t.Helper()
	if madeHostile != nil {
		return madeHostile
	}
	all := map[string]func(path string) error{}
	for _, made := range []map[string][]byte{hostileTensors(t), hostileArrays(), hostileZips(t), hostilePictures(), hostileVideos(), hostileJSON()} {
		for name, data := range made {
			require.NotContains(t, all, name)
			all[name] = func(path string) error { return os.WriteFile(path, data, 0o666) }
		}
	}
	for _, ext := range []string{"safetensors", "pth", "npy", "npz", "latent", "y4m", "png", "webp", "mp4", "jsonl"} {
		for kind, make := range map[string]func(path string) error{
			"folder":  func(path string) error { return os.Mkdir(path, 0o777) },
			"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o666) },
			"endless": func(path string) error { return os.Symlink("/dev/zero", path) },
			"full":    func(path string) error { return os.Symlink("/dev/full", path) },
			"loop":    func(path string) error { return os.Symlink(path, path) },
			"dangles": func(path string) error { return os.Symlink(path+"x", path) },
			"memory":  func(path string) error { return os.Symlink("/proc/self/mem", path) },
			"nothing": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		} {
			if kind != "nothing" { // a manifest may list no clips
				kind = "no-file-" + kind
			}
			all[kind+"."+ext] = make
		}
		for _, size := range []int64{1, 1 << 40} { // more than the disk has
			all[fmt.Sprintf("zeros-%d.%s", size, ext)] = func(path string) error {
				if err := os.WriteFile(path, nil, 0o666); err != nil {
					return err
				}
				return os.Truncate(path, size)
			}
		}
	}
	madeHostile = all
	return all
}

// u32 and u64 encode little-endian.
func u32(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
func u64(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// tensors returns a .safetensors with a header and this many zeros.
func tensors(header string, zeros int) []byte {
	return append([]byte(u64(uint64(len(header)))+header), make([]byte, zeros)...)
}

// entry returns an entry of a header.
func entry(name, dtype, shape string, from, to uint64) string {
	return fmt.Sprintf(`"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, from, to)
}

// hostileTensors are .safetensors files, each as a checkpoint and as a ComfyUI latent.
func hostileTensors(t *testing.T) map[string][]byte {
	t.Helper()
	whole, err := os.ReadFile(built.model)
	require.NoError(t, err)
	head := 8 + int(binary.LittleEndian.Uint64(whole))
	header := string(whole[8:head])
	const shape = "[1,4,1,2,2]"
	many := make([]string, 60_000)
	for i := range many {
		many[i] = entry(fmt.Sprint("t", i), "F32", "[0]", 0, 0)
	}
	all := map[string][]byte{
		"length-0":         []byte(u64(0)),
		"length-half":      []byte("\x10\x00\x00"),
		"length-beyond":    []byte(u64(1<<20) + "{}"),
		"length-endless":   []byte(u64(1<<63) + "{}"),
		"length-negative":  []byte(u64(1<<64-1) + "{}"),
		"no-json":          tensors("nothing that is", 64),
		"null":             tensors("null", 64),
		"array":            tensors("[]", 64),
		"deep":             tensors(strings.Repeat("[", 1<<20), 64),
		"deep-objects":     tensors(strings.Repeat(`{"a":`, 1<<18), 64),
		"deep-metadata":    tensors(`{"__metadata__":`+strings.Repeat(`{"a":`, 1<<18)+strings.Repeat("}", 1<<18)+"}", 64),
		"spaces":           tensors("{"+strings.Repeat(" ", 8<<20)+"}", 0),
		"unended":          tensors(`{"latent":{"dtype":"F32","shape":[1`, 64),
		"twice":            tensors("{"+entry("latent", "F32", shape, 0, 64)+","+entry("latent", "F32", shape, 0, 64)+"}", 64),
		"overlap":          tensors("{"+entry("latent", "F32", shape, 0, 64)+","+entry("other", "F32", shape, 32, 96)+"}", 96),
		"backwards":        tensors("{"+entry("latent", "F32", shape, 64, 0)+"}", 64),
		"beyond":           tensors("{"+entry("latent", "F32", shape, 1<<40, 1<<40+64)+"}", 64),
		"wraps":            tensors("{"+entry("latent", "F32", shape, 1<<63, 1<<63+64)+"}", 64),
		"hole":             tensors("{"+entry("latent", "F32", shape, 1000, 1064)+"}", 1064),
		"size-lies":        tensors("{"+entry("latent", "F32", "[1,4,100,200,200]", 0, 64)+"}", 64),
		"shape-negative":   tensors("{"+entry("latent", "F32", "[1,4,-1,2,-2]", 0, 64)+"}", 64),
		"shape-fraction":   tensors("{"+entry("latent", "F32", "[1,4,1.5,2,2]", 0, 64)+"}", 64),
		"shape-overflow":   tensors("{"+entry("latent", "F32", "[4294967296,4294967296]", 0, 0)+"}", 0),
		"shape-zero":       tensors("{"+entry("latent", "F32", "[1,4,0,2,2]", 0, 0)+"}", 0),
		"shape-nothing":    tensors("{"+entry("latent", "F32", "[]", 0, 4)+"}", 4),
		"shape-long":       tensors("{"+entry("latent", "F32", "["+strings.Repeat("1,", 1<<18)+"1]", 0, 4)+"}", 4),
		"dtype-unknown":    tensors("{"+entry("latent", "F99", shape, 0, 64)+"}", 64),
		"dtype-bool":       tensors("{"+entry("latent", "BOOL", shape, 0, 16)+"}", 16),
		"dtype-int":        tensors("{"+entry("latent", "I64", shape, 0, 128)+"}", 128),
		"name-long":        tensors("{"+entry(strings.Repeat("n", 1<<20), "F32", shape, 0, 64)+"}", 64),
		"name-escapes":     tensors("{"+entry(`\u001b[2J\u0000\ud800\u202e`, "F32", shape, 0, 64)+"}", 64),
		"name-no-utf8":     tensors("{"+entry("\xff\xfe", "F32", shape, 0, 64)+"}", 64),
		"metadata-numbers": tensors(`{"__metadata__":{"a":1},`+entry("latent", "F32", shape, 0, 64)+"}", 64),
		"metadata-lies":    tensors(`{"__metadata__":{"frames":"99999999999","height":"-1","width":"1e9","fps":"0/0","model":"\u001b[31m"},`+entry("latent", "F32", shape, 0, 64)+"}", 64),
		"many":             tensors("{"+strings.Join(many, ",")+"}", 0),
		"infinite":         append(tensors("{"+entry("latent", "F32", shape, 0, 64)+"}", 60), "\x00\x00\x80\x7f"...),
		"model-cut":        whole[:head+(len(whole)-head)/2],
		"model-shapes":     append(tensors(strings.ReplaceAll(header, `"shape":[4`, `"shape":[5`), 0), whole[head:]...),
		"model-shapes-big": append(tensors(strings.ReplaceAll(header, `"shape":[4`, `"shape":[2147483647`), 0), whole[head:]...),
		"model-no-floats":  append(tensors(strings.ReplaceAll(header, `"F32"`, `"I32"`), 0), whole[head:]...),
		"model-zeros":      append(whole[:head:head], make([]byte, len(whole)-head)...),
		"model-infinite":   append(whole[:head:head], bytes.Repeat([]byte{0, 0, 0x80, 0x7f}, (len(whole)-head)/4)...),
		"model-huge":       append(whole[:head:head], bytes.Repeat([]byte{0xff, 0xff, 0x7f, 0x7f}, (len(whole)-head)/4)...),
	}
	named := map[string][]byte{}
	for name, data := range all {
		for _, ext := range []string{".safetensors", ".latent"} {
			named[name+ext] = data
		}
	}
	return named
}

// array returns an .npy with a header and this many zeros.
func array(version byte, header string, zeros int) []byte {
	length := string(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	if version > 1 {
		length = u32(uint32(len(header)))
	}
	return append([]byte("\x93NUMPY"+string([]byte{version, 0})+length+header), make([]byte, zeros)...)
}

func hostileArrays() map[string][]byte {
	dict := func(descr, order, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	}
	const floats = "'<f4'"
	return map[string][]byte{
		"magic.npy":          []byte("\x93NUMPY"),
		"version.npy":        array(9, dict(floats, "False", "(4,1,2,2)"), 64),
		"length.npy":         []byte("\x93NUMPY\x01\x00\xff\xff{"),
		"length-endless.npy": []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{"),
		"header-long.npy":    array(2, strings.Repeat(" ", 8<<20)+dict(floats, "False", "(4,1,2,2)"), 64),
		"deep.npy":           array(2, dict(floats, "False", strings.Repeat("(", 1<<20)), 64),
		"deep-descr.npy":     array(2, dict(strings.Repeat("[", 1<<20), "False", "(4,1,2,2)"), 64),
		"no-header.npy":      array(1, "__import__('os').system('true')\n", 64),
		"objects.npy":        array(1, dict("'|O'", "False", "(4,1,2,2)"), 64),
		"records.npy":        array(1, dict("[('a', '<f4'), ('b', '<f4')]", "False", "(4,1,2,2)"), 128),
		"text.npy":           array(1, dict("'<U1000000000'", "False", "(1,)"), 64),
		"columns.npy":        array(1, dict(floats, "True", "(4,1,2,2)"), 64),
		"big-endian.npy":     array(1, dict("'>f4'", "False", "(4,1,2,2)"), 64),
		"complex.npy":        array(1, dict("'<c16'", "False", "(4,1,2,2)"), 256),
		"negative.npy":       array(1, dict(floats, "False", "(4,-1,2,-2)"), 64),
		"overflow.npy":       array(1, dict(floats, "False", "(4294967296,4294967296,4)"), 64),
		"endless.npy":        array(1, dict(floats, "False", "(4,"+strings.Repeat("9", 4000)+",2,2)"), 64),
		"short.npy":          array(1, dict(floats, "False", "(4,100,200,200)"), 64),
		"long.npy":           array(1, dict(floats, "False", "(4,1,2,2)"), 1<<20),
		"nothing.npy":        array(1, dict(floats, "False", "(4,0,2,2)"), 0),
		"scalar.npy":         array(1, dict(floats, "False", "()"), 4),
		"ranks.npy":          array(2, dict(floats, "False", "("+strings.Repeat("1,", 1<<18)+")"), 4),
		"twice.npy":          array(1, "{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (4,1,2,2), 'shape': (9,), }\n", 64),
	}
}

// packed returns a compressed zip of entries.
func packed(entries map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range entries {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			panic(err) // a buffer accepts everything
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// hostileZips are archives: .npz, and torch's .pth and .pt.
func hostileZips(t *testing.T) map[string][]byte {
	t.Helper()
	zeros := make([]byte, 256<<20) // 256 KB after compression
	good := pthtest.Dump([]pthtest.Tensor{{Name: "latent", DType: safetensors.F32, Shape: []int{4, 1, 2, 2}}}, pthtest.Options{})
	torch := func(pickle []byte, more ...pthtest.Entry) []byte {
		entries := []pthtest.Entry{{Name: "z/data.pkl", Data: pthtest.Bytes(pickle)}, {Name: "z/byteorder", Data: pthtest.Bytes([]byte("little"))}}
		return pthtest.Zipped(append(append(entries, more...), pthtest.Entry{Name: "z/data/0", Data: pthtest.Bytes(make([]byte, 64))}, pthtest.Entry{Name: "z/version", Data: pthtest.Bytes([]byte("3\n"))})...)
	}
	pickle := func(code string) []byte { return torch([]byte("\x80\x02" + code)) }
	many := map[string][]byte{}
	for i := range 20_000 {
		many[fmt.Sprintf("a%d.npy", i)] = nil
	}
	whole := torch(good)
	lies := bytes.Clone(whole)
	if at := bytes.LastIndex(lies, []byte("PK\x05\x06")); at >= 0 { // the number of entries
		copy(lies[at+8:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	}
	sizes := bytes.ReplaceAll(whole, []byte(u32(64)+u32(64)), []byte(u32(0xfffffff0)+u32(0xfffffff0)))
	one := array(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,1,2,2), }\n", 64)
	all := map[string][]byte{
		"good.pt":            whole, // to show that the others are refused for the right reason
		"bomb-pickle.pth":    packed(map[string][]byte{"z/data.pkl": zeros, "z/version": []byte("3")}),
		"bomb-text.pt":       packed(map[string][]byte{"z/data.pkl": good, "z/data/0": zeros, "z/version": []byte("3")}),
		"bomb.npz":           packed(map[string][]byte{"latent.npy": append(array(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,1,2,2), }\n", 64), zeros...)}),
		"bomb-header.npz":    packed(map[string][]byte{"latent.npy": append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\x0f"), zeros...)}),
		"bomb-of-bombs.npz":  packed(map[string][]byte{"latent.npz": packed(map[string][]byte{"latent.npy": zeros})}),
		"many.npz":           packed(many),
		"climbs.npz":         packed(map[string][]byte{"../../../../latent.npy": one}),
		"climbs.pth":         packed(map[string][]byte{"../../data.pkl": good}),
		"names.npz":          packed(map[string][]byte{strings.Repeat("n", 65_000) + ".npy": one, "\x1b[2J.npy": one}),
		"no-entries.npz":     packed(nil),
		"no-entries.pth":     packed(nil),
		"no-pickle.pth":      packed(map[string][]byte{"z/version": []byte("3")}),
		"no-end.pth":         whole[:len(whole)-10],
		"end-alone.pth":      whole[max(0, len(whole)-22):],
		"counts-lie.pt":      lies,
		"sizes-lie.pt":       sizes,
		"comment.pth":        append(append(bytes.Clone(whole[:len(whole)-2]), 0xff, 0xff), bytes.Repeat([]byte("PK\x05\x06"), 1<<14)...),
		"system.pth":         pickle("cposix\nsystem\n(S'touch harmed'\ntR."),
		"eval.pt":            pickle("cbuiltins\neval\n(S'1'\ntR."),
		"underflow.pth":      pickle("......."),
		"marks.pth":          pickle(strings.Repeat("(", 4<<20) + "."),
		"tuples.pth":         pickle("N" + strings.Repeat("\x85", 4<<20) + "."),
		"lists.pt":           pickle(strings.Repeat("]", 1<<20) + strings.Repeat("a", 1<<20) + "."),
		"memo.pth":           pickle("Nr\xff\xff\xff\xff."),
		"memo-missing.pth":   pickle("j\xff\xff\xff\xff."),
		"unicode.pth":        pickle("X\xff\xff\xff\xffabc"),
		"bytes.pt":           torch([]byte("\x80\x04\x8e" + u64(1<<62) + "abc")),
		"frame.pt":           torch([]byte("\x80\x04\x95" + u64(1<<62) + "abc")),
		"integer.pth":        torch([]byte("\x80\x02\x8b\xff\xff\xff\x7f1")),
		"decimal.pth":        pickle("L" + strings.Repeat("9", 4<<20) + "L\n."),
		"itself.pth":         pickle("]q\x00h\x00a."),
		"itself-dict.pt":     pickle("}q\x00X\x01\x00\x00\x00ah\x00s."),
		"doubles.pth":        pickle("]q\x00" + strings.Repeat("]h\x00ah\x00aq\x00", 40) + "."),
		"old.pth":            []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."),
		"tar.pth":            append([]byte("storages"), make([]byte, 1<<12)...),
		"storage-lies.pt":    torch(pthtest.NewPickle().Tensor(pthtest.Storage{Class: "FloatStorage", Key: "0", Elements: 1 << 40}, 0, []int{1 << 20, 1 << 20}, []int{1 << 20, 1}).Raw(".").Bytes()),
		"stride-lies.pt":     torch(pthtest.NewPickle().Tensor(pthtest.Storage{Class: "FloatStorage", Key: "0", Elements: 16}, 0, []int{1 << 30, 1 << 30}, []int{0, 0}).Raw(".").Bytes()),
		"offset-lies.pt":     torch(pthtest.NewPickle().Tensor(pthtest.Storage{Class: "FloatStorage", Key: "0", Elements: 16}, 1<<40, []int{4, 1, 2, 2}, []int{4, 4, 2, 1}).Raw(".").Bytes()),
		"storage-climbs.pth": torch(pthtest.NewPickle().Tensor(pthtest.Storage{Class: "FloatStorage", Key: "../../../etc/passwd", Elements: 16}, 0, []int{4, 1, 2, 2}, []int{4, 4, 2, 1}).Raw(".").Bytes()),
	}
	return all
}

// chunk returns a chunk of a PNG.
func chunk(kind, data string) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(kind+data)))
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + kind + data + string(sum)
}

// big encodes numbers big-endian, in four bytes each.
func big(numbers ...uint32) string {
	var b []byte
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return string(b)
}

func hostilePictures() map[string][]byte {
	deflate := func(zeros int64) string {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := io.CopyN(w, endless{}, zeros); err != nil {
			panic(err) // a buffer accepts everything
		}
		w.Close()
		return b.String()
	}
	png := func(width, height uint32, kind string, chunks ...string) []byte {
		return []byte("\x89PNG\r\n\x1a\n" + chunk("IHDR", big(width, height)+kind) + strings.Join(chunks, "") + chunk("IEND", ""))
	}
	const rgb = "\x08\x02\x00\x00\x00"
	pixels := chunk("IDAT", deflate(16*(1+3*24)))
	control := func(n, w, h, x, y uint32) string {
		return chunk("fcTL", big(n, w, h, x, y)+"\x00\x01\x00\x19\x00\x00")
	}
	riff := func(chunks string) []byte { return []byte("RIFF" + u32(uint32(4+len(chunks))) + "WEBP" + chunks) }
	part := func(kind, data string) string { return kind + u32(uint32(len(data))) + data }
	jpeg := func(height, width uint16, components byte) string {
		head := binary.BigEndian.AppendUint16([]byte{8}, height)
		head = append(binary.BigEndian.AppendUint16(head, width), components)
		for i := range components {
			head = append(head, i+1, 0x11, 0)
		}
		return "\xff\xd8\xff\xc0" + string(binary.BigEndian.AppendUint16(nil, uint16(2+len(head)))) + string(head)
	}
	return map[string][]byte{
		"sides.png":         png(1<<31-1, 1<<31-1, rgb, pixels),
		"sides-0.png":       png(0, 0, rgb, pixels),
		"wide.png":          png(1<<27, 1, rgb, chunk("IDAT", deflate(1))),
		"bomb.png":          png(16384, 16384, rgb, chunk("IDAT", deflate(64<<20))),
		"more.png":          png(24, 16, rgb, chunk("IDAT", deflate(64<<20))),
		"kind.png":          png(24, 16, "\x07\x09\x01\x01\x02", pixels),
		"bits.png":          png(24, 16, "\x10\x06\x00\x00\x01", pixels),
		"no-pixels.png":     png(24, 16, rgb),
		"no-end.png":        []byte("\x89PNG\r\n\x1a\n" + chunk("IHDR", big(24, 16)+rgb)),
		"length.png":        []byte("\x89PNG\r\n\x1a\n" + chunk("IHDR", big(24, 16)+rgb) + big(0xffffffff) + "IDAT"),
		"profile-bomb.png":  png(24, 16, rgb, chunk("iCCP", "x\x00\x00"+deflate(64<<20)), pixels),
		"text-bomb.png":     png(24, 16, rgb, chunk("zTXt", "x\x00\x00"+deflate(64<<20)), pixels),
		"exif.png":          png(24, 16, rgb, chunk("eXIf", "MM\x00*\xff\xff\xff\xff"), pixels),
		"frames.png":        png(24, 16, rgb, chunk("acTL", big(1<<31-1, 0)), control(0, 24, 16, 0, 0), pixels),
		"frames-0.png":      png(24, 16, rgb, chunk("acTL", big(0, 0)), pixels),
		"beyond.png":        png(24, 16, rgb, chunk("acTL", big(2, 0)), control(0, 24, 16, 0, 0), pixels, control(1, 24, 16, 0xfffffff0, 16), chunk("fdAT", big(2)+deflate(16*(1+3*24)))),
		"canvas-0.webp":     riff(part("VP8X", "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00")),
		"canvas.webp":       riff(part("VP8X", "\x02\x00\x00\x00\xff\xff\xff\xff\xff\xff") + part("ANIM", "\x00\x00\x00\x00\x00\x00") + part("ANMF", strings.Repeat("\xff", 16))),
		"part.webp":         riff("VP8 \xff\xff\xff\xff"),
		"size.webp":         []byte("RIFF\xff\xff\xff\xffWEBPVP8L\x05\x00\x00\x00\x2f\xff\xff\xff\xff"),
		"lossless.webp":     riff(part("VP8L", "\x2f"+strings.Repeat("\xff", 64))),
		"many.webp":         riff(part("VP8X", "\x02\x00\x00\x00\x17\x00\x00\x0f\x00\x00") + part("ANIM", "\x00\x00\x00\x00\x00\x00") + strings.Repeat(part("ANMF", strings.Repeat("\x00", 16)), 1<<16)),
		"sides.jpg":         []byte(jpeg(65535, 65535, 3)),
		"sides-0.jpg":       []byte(jpeg(0, 0, 3)),
		"components.jpg":    []byte(jpeg(16, 24, 9)),
		"markers.jpg":       []byte("\xff\xd8" + strings.Repeat("\xff\xe0\x00\x02", 1<<18)),
		"segment.jpg":       []byte("\xff\xd8\xff\xe1\xff\xffExif\x00\x00MM\x00*\x00\x00\x00\x08\xff\xff"),
		"segment-short.jpg": []byte("\xff\xd8\xff\xe1\x00\x00\xff\xd9"),
	}
}

// endless is a reader of zeros.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func hostileVideos() map[string][]byte {
	atom := func(kind, data string) string { return big(uint32(8+len(data))) + kind + data }
	type4 := atom("ftyp", "isom\x00\x00\x02\x00isomiso2mp41")
	return map[string][]byte{
		"head.y4m":        []byte("YUV4MPEG2"),
		"line.y4m":        []byte("YUV4MPEG2 W24 H16 F25:1 " + strings.Repeat("X", 8<<20)),
		"sides.y4m":       []byte("YUV4MPEG2 W999999999 H999999999 F25:1\nFRAME\n"),
		"sides-0.y4m":     []byte("YUV4MPEG2 W0 H0 F25:1\nFRAME\n"),
		"sides-minus.y4m": []byte("YUV4MPEG2 W-24 H-16 F25:1\nFRAME\n"),
		"rate.y4m":        append([]byte("YUV4MPEG2 W2 H2 F0:0\nFRAME\n"), make([]byte, 6)...),
		"rate-lies.y4m":   append([]byte("YUV4MPEG2 W2 H2 F99999999999999999999:1\nFRAME\n"), make([]byte, 6)...),
		"no-frames.y4m":   []byte("YUV4MPEG2 W24 H16 F25:1\n"),
		"frame-line.y4m":  []byte("YUV4MPEG2 W24 H16 F25:1\nFRAME " + strings.Repeat("X", 8<<20)),
		"chroma.y4m":      append([]byte("YUV4MPEG2 W2 H2 F25:1 C999p99\nFRAME\n"), make([]byte, 60)...),
		"atom.mp4":        []byte(type4 + "\xff\xff\xff\xffmoov"),
		"atom-0.mp4":      []byte(type4 + "\x00\x00\x00\x00moov"),
		"atom-large.mp4":  []byte(type4 + "\x00\x00\x00\x01moov\x7f\xff\xff\xff\xff\xff\xff\xff"),
		"deep.mp4":        []byte(type4 + strings.Repeat("\x00\x0f\xff\xffmoov", 1<<16)),
		"empty.mp4":       []byte(type4 + atom("moov", "")),
		"ebml.mkv":        []byte("\x1a\x45\xdf\xa3\x01\xff\xff\xff\xff\xff\xff\xfe"),
		"ebml.webm":       []byte("\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + strings.Repeat("\x16\x54\xae\x6b\x01\xff\xff\xff\xff\xff\xff\xff", 1<<12)),
		"gif.gif":         []byte("GIF89a\xff\xff\xff\xff\xf7\x00\x00" + strings.Repeat("\x00", 768) + ",\x00\x00\x00\x00\xff\xff\xff\xff\x00\x08"),
		"playlist.mp4":    []byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"),
		"concat.mov":      []byte("ffconcat version 1.0\nfile '/etc/passwd'\n"),
		"text.mp4":        []byte(strings.Repeat("no video\n", 1<<16)),
		"binary.mkv":      bytes.Repeat([]byte{0x47, 0xff, 0, 1}, 1<<18),
		"exe.mp4":         append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 1<<12)...),
	}
}

// hostileJSON are manifests, config.json and files that a decode left behind.
func hostileJSON() map[string][]byte {
	config := func(text string) []byte {
		return []byte(`{"_class_name":"AutoencoderKLWan","latents_mean":` + text + `,"latents_std":` + text + `}`)
	}
	return map[string][]byte{
		"null.jsonl":         []byte("null\n"),
		"array.jsonl":        []byte("[1,2,3]\n"),
		"deep.jsonl":         []byte(strings.Repeat(`{"input":`, 1<<18) + "\n"),
		"deep-array.jsonl":   []byte(`{"input":` + strings.Repeat("[", 4<<20) + "\n"),
		"line.jsonl":         []byte(`{"input":"` + strings.Repeat("x", 16<<20) + `"}`),
		"numbers.jsonl":      []byte(`{"input":1e999,"output":-0}` + "\n"),
		"utf16.jsonl":        []byte("\xff\xfe{\x00}\x00\n\x00"),
		"zeros.jsonl":        []byte("{\"input\":\"a\x00b.npy\",\"output\":\"\x00\"}\n"),
		"climbs.jsonl":       []byte(`{"name":"../../x","input":"../../../etc/passwd","output":"../../../../x.npy"}` + "\n"),
		"flags.jsonl":        []byte(`{"input":"a.npy","output":"b.npy","dawn":"/etc/passwd","nothing":{}}` + "\n"),
		"twice.jsonl":        []byte(`{"input":"a.npy","input":"b.npy","output":"c.npy","output":"d.npy"}` + "\n"),
		"lines.jsonl":        bytes.Repeat([]byte("\n"), 4<<20),
		"unended.jsonl":      []byte(`{"input":"a.npy`),
		"config.json":        config("[1]"),
		"config-deep.json":   []byte(strings.Repeat(`{"a":`, 1<<18)),
		"config-null.json":   []byte("null"),
		"config-nan.json":    config(`[NaN,NaN,NaN,NaN]`),
		"config-zero.json":   config(`[0,0,0,0]`),
		"config-huge.json":   config(`[1e999,1e999,1e999,1e999]`),
		"config-long.json":   config("[" + strings.Repeat("1,", 1<<20) + "1]"),
		"config-text.json":   config(`"` + strings.Repeat("x", 8<<20) + `"`),
		"unfinished-empty":   nil,
		"unfinished-deep":    []byte(strings.Repeat(`{"a":`, 1<<18)),
		"unfinished-zeros":   make([]byte, 1<<16),
		"unfinished-numbers": []byte(`{"version":1e999}`),
	}
}
