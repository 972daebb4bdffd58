//go:build !js

package pth

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrSeveral means that a file consists of several of torch.save's files, one after
// another. The offsets in the last one's directory would then be wrong.
var ErrSeveral = errors.New("it contains several files of torch.save")

// checkStart refuses a zip that begins at byte start, after another zip.
func (a *archive) checkStart(start int64) error {
	if start <= 0 {
		return nil // reading it reports the fault
	}
	head, err := a.bytes(start, 4, "start")
	if a.failed {
		return err
	}
	if head != "PK\x03\x04" {
		return nil
	}
	return fmt.Errorf("%w: the last begins at byte %d", ErrSeveral, start)
}

// maxParts limits the number of files in one.
const maxParts = 1 << 15

// Part is one of torch.save's files in a larger file, for Read of a section.
type Part struct{ Offset, Size int64 }

// Parts finds torch.save's files that follow one another in size bytes of r; see
// ErrSeveral. It reads the end of each.
func Parts(r io.ReaderAt, size int64) ([]Part, error) {
	var parts []Part
	for end := size; end > 0; {
		p, err := lastPart(&archive{r: r, size: end})
		if err != nil {
			return nil, err
		}
		if parts = append(parts, p); len(parts) > maxParts {
			return nil, fmt.Errorf("it contains more than %d files of torch.save", maxParts)
		}
		end = p.Offset
	}
	slices.Reverse(parts)
	return parts, nil
}

// lastPart returns the zip that ends where a ends: its size is the sum of what its end
// record says and of the records.
func lastPart(a *archive) (Part, error) {
	n := min(a.size, endLen+locatorLen+end64Len)
	b, err := a.bytes(a.size-n, n, "end")
	if err != nil {
		return Part{}, err
	}
	at := len(b) - endLen
	if at < 0 || b[at:at+4] != "PK\x05\x06" {
		return Part{}, fmt.Errorf("no file of torch.save ends at byte %d", a.size)
	}
	records, length, offset := int64(endLen), long(b[at:], 12), long(b[at:], 16)
	if at == locatorLen+end64Len && b[:4] == "PK\x06\x06" && b[end64Len:end64Len+4] == "PK\x06\x07" {
		records, length, offset = n, huge(b, 40), huge(b, 48)
	}
	start := a.size - records - length - offset
	if length < 0 || offset < 0 || start < 0 || start >= a.size {
		return Part{}, fmt.Errorf("the file of torch.save that ends at byte %d has a directory of %d bytes after %d bytes, which is impossible", a.size, length, offset)
	}
	return Part{start, a.size - start}, nil
}
