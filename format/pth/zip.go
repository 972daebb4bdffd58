package pth

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tessera/format/quote"
)

const (
	// maxPickle and maxDirectory limit what is read into memory, in bytes. The pickle has
	// about 150 per tensor, the directory about 80.
	maxPickle    = 4 << 20
	maxDirectory = 4 << 20

	localLen, entryLen, endLen, locatorLen, end64Len = 30, 46, 22, 20, 56
)

// LegacyMagic begins a file of torch before 1.6, which is refused: a pickle of the long
// 0x1950a86a20f9469cfc6c.
const LegacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

const resave = "save it again with torch.save"

// archive is the directory of a zip of stored entries. archive/zip would bring in
// compress/flate and more, a quarter of a megabyte in the browser, and a stored entry is
// just a range of the file.
type archive struct {
	r       io.ReaderAt
	size    int64
	prefix  string // folder of all of torch's entries, with its slash
	entries map[string]zipEntry
	failed  bool // a read failed, which is no format error
}

// zipEntry is one entry of the directory.
type zipEntry struct {
	name   string
	flags  uint16
	method uint16
	packed int64
	size   int64
	header int64 // offset of the local header
}

// open reads the directory and finds torch's folder.
func (a *archive) open() error {
	if err := a.recognise(); err != nil {
		return err
	}
	if err := a.directory(); err != nil {
		return err
	}
	return a.findPrefix()
}

// recognise refuses a file that is not a zip.
func (a *archive) recognise() error {
	head, err := a.bytes(0, min(a.size, 512), "start")
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(head, LegacyMagic), len(head) > 262 && head[257:262] == "ustar":
		return fmt.Errorf("it is in torch's format before version 1.6, expected a zip: load it and %s", resave)
	case !strings.HasPrefix(head, "PK\x03\x04"):
		return fmt.Errorf("it begins with %q, expected a zip as torch.save writes it", head[:min(len(head), 4)])
	}
	return nil
}

// bytes reads a range, whose length the caller has limited.
func (a *archive) bytes(offset, n int64, what string) (string, error) {
	if offset < 0 || n < 0 || offset > a.size || n > a.size-offset {
		return "", fmt.Errorf("%s: %d bytes at %d, but the file has %d: truncated, or no zip", what, n, offset, a.size)
	}
	// ReadAll allocates as bytes arrive, in case size is wrong.
	b, err := io.ReadAll(io.NewSectionReader(a.r, offset, n))
	if err == nil && int64(len(b)) != n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		a.failed = true
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return string(b), nil
}

// end is the position of the directory.
type end struct{ offset, length, entries int64 }

// findEnd reads the zip's last record, or the 64-bit record that it refers to, which
// torch always writes.
func (a *archive) findEnd() (end, error) {
	tail, err := a.bytes(max(0, a.size-endLen-1<<16), min(a.size, endLen+1<<16), "end")
	if err != nil {
		return end{}, err
	}
	at := strings.LastIndex(tail, "PK\x05\x06")
	if at < 0 || len(tail)-at < endLen {
		return end{}, errors.New("the zip has no end record: truncated")
	}
	b, where := tail[at:], a.size-int64(len(tail)-at)
	if disk := word(b, 4) | word(b, 6); disk != 0 && disk != 0xffff {
		return end{}, errors.New("the zip is in several parts, expected one")
	}
	e := end{entries: word(b, 10), length: long(b, 12), offset: long(b, 16)}
	if at < locatorLen || tail[at-locatorLen:at-locatorLen+4] != "PK\x06\x07" {
		return e, a.checkStart(where - e.length - e.offset)
	}
	said := huge(tail[at-locatorLen:], 8)
	if err := a.checkStart(where - locatorLen - end64Len - said); err != nil {
		return end{}, err
	}
	b, err = a.bytes(said, end64Len, "64-bit end record")
	if err != nil {
		return end{}, err
	}
	if b[:4] != "PK\x06\x06" {
		return end{}, fmt.Errorf("64-bit end record begins with %q, expected %q", b[:4], "PK\x06\x06")
	}
	return end{entries: huge(b, 32), length: huge(b, 40), offset: huge(b, 48)}, nil
}

// directory reads the entries by name.
func (a *archive) directory() error {
	e, err := a.findEnd()
	if err != nil {
		return err
	}
	if e.length < 0 || e.length > maxDirectory {
		return fmt.Errorf("the zip's directory has %d bytes, expected at most %d", e.length, maxDirectory)
	}
	b, err := a.bytes(e.offset, e.length, "directory")
	if err != nil {
		return err
	}
	var at int64
	for len(b) > 0 {
		z, n, err := parseEntry(b)
		if err == nil {
			at, err = a.add(z, at)
		}
		if err != nil {
			return fmt.Errorf("directory entry %d: %w", len(a.entries), err)
		}
		b = b[n:]
	}
	if int64(len(a.entries)) != e.entries {
		return fmt.Errorf("the zip's directory has %d entries, expected %d as its end says", len(a.entries), e.entries)
	}
	return nil
}

// add adds an entry, which must begin at byte at or later and lie within the file,
// because torch writes entries in order. It returns where the next entry may begin.
func (a *archive) add(z zipEntry, at int64) (int64, error) {
	if _, ok := a.entries[z.name]; ok {
		return 0, fmt.Errorf("%s appears twice", quote.Name(z.name))
	}
	if z.header < at {
		return 0, fmt.Errorf("%s begins at byte %d, expected %d or later, after the previous entry", quote.Name(z.name), z.header, at)
	}
	head := z.header + localLen + int64(len(z.name))
	if head < 0 || head > a.size || z.packed > a.size-head {
		return 0, fmt.Errorf("%s has %d bytes at %d, but the file has %d: truncated", quote.Name(z.name), z.packed, z.header, a.size)
	}
	a.entries[z.name] = z
	return head + z.packed, nil
}

// parseEntry reads the entry at the start of b, of n bytes.
func parseEntry(b string) (z zipEntry, n int64, err error) {
	if len(b) < entryLen || b[:4] != "PK\x01\x02" {
		return z, 0, fmt.Errorf("begins with %q, expected %q and %d bytes", b[:min(len(b), 4)], "PK\x01\x02", entryLen)
	}
	name, extra, comment := word(b, 28), word(b, 30), word(b, 32)
	n = entryLen + name + extra + comment
	if n > int64(len(b)) {
		return z, 0, fmt.Errorf("has %d bytes, the directory %d more", n, len(b))
	}
	z = zipEntry{
		name: b[entryLen : entryLen+name], flags: uint16(word(b, 8)), method: uint16(word(b, 10)),
		packed: long(b, 20), size: long(b, 24), header: long(b, 42),
	}
	return z, n, z.widen(b[entryLen+name : entryLen+name+extra])
}

// widen reads the numbers that did not fit 32 bits from extra field 1.
func (z *zipEntry) widen(extra string) error {
	for len(extra) >= 4 {
		kind, n := word(extra, 0), word(extra, 2)
		extra = extra[4:]
		if n > int64(len(extra)) {
			break
		}
		if field := extra[:n]; kind == 1 {
			for _, v := range []*int64{&z.size, &z.packed, &z.header} {
				if *v == 0xffffffff && len(field) >= 8 {
					*v, field = huge(field, 0), field[8:]
				}
			}
		}
		extra = extra[n:]
	}
	if z.size < 0 || z.packed < 0 || z.header < 0 {
		return fmt.Errorf("%s: %d bytes at %d, expected both below 2^63", quote.Name(z.name), z.size, z.header)
	}
	return nil
}

// findPrefix takes the folder of data.pkl as torch's.
func (a *archive) findPrefix() error {
	found := 0
	for name := range a.entries {
		if prefix, ok := strings.CutSuffix(name, "data.pkl"); ok && strings.HasSuffix(prefix, "/") {
			a.prefix = prefix
			found++
		}
	}
	if found != 1 {
		return fmt.Errorf("the zip has %d entries */data.pkl, expected 1 as torch.save writes it", found)
	}
	if _, ok := a.entries[a.prefix+"constants.pkl"]; ok {
		return fmt.Errorf("it is a TorchScript archive, expected tensors: load it and %s of its state_dict", resave)
	}
	if _, ok := a.entries[a.prefix+"byteorder"]; !ok {
		return nil
	}
	order, err := a.small("byteorder", 16)
	if err == nil && strings.TrimSpace(order) != "little" {
		err = fmt.Errorf("byte order is %q, expected little", order)
	}
	return err
}

// pickle returns the content of data.pkl.
func (a *archive) pickle() (string, error) { return a.small("data.pkl", maxPickle) }

// small reads an entry of torch's folder, at most most bytes.
func (a *archive) small(name string, most int64) (string, error) {
	z := a.entries[a.prefix+name]
	if z.size > most {
		return "", fmt.Errorf("%s has %d bytes, expected at most %d", name, z.size, most)
	}
	offset, err := a.offset(z)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return a.bytes(offset, z.size, name)
}

// offset returns where an entry's bytes begin, after its local header.
func (a *archive) offset(z zipEntry) (int64, error) {
	switch {
	case z.flags&1 != 0:
		return 0, errors.New("is encrypted")
	case z.method != 0:
		return 0, fmt.Errorf("is compressed (method %d), expected stored: %s", z.method, resave)
	case z.size != z.packed:
		return 0, fmt.Errorf("is stored in %d bytes, expected %d", z.packed, z.size)
	}
	name := int64(len(z.name))
	b, err := a.bytes(z.header, localLen+name, "local header")
	if err != nil {
		return 0, err
	}
	if b[:4] != "PK\x03\x04" || word(b, 26) != name || b[localLen:] != z.name {
		return 0, fmt.Errorf("byte %d begins with %q, expected the local header of %s", z.header, b[:4], quote.Name(z.name))
	}
	begin := z.header + localLen + name + word(b, 28)
	if begin > a.size || z.size > a.size-begin {
		return 0, fmt.Errorf("%d bytes at %d, but the file has %d: truncated", z.size, begin, a.size)
	}
	return begin, nil
}

func word(b string, at int) int64 { return int64(unsigned(b[at : at+2])) }
func long(b string, at int) int64 { return int64(unsigned(b[at : at+4])) }

// huge reads 8 bytes; from 2^63 on it is negative, which every caller refuses.
func huge(b string, at int) int64 { return int64(unsigned(b[at : at+8])) }

// unsigned reads a little-endian number of up to 8 bytes.
func unsigned(b string) (n uint64) {
	for i := range len(b) {
		n |= uint64(b[i]) << (8 * i)
	}
	return n
}
