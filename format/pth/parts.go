//go:build !js

package pth

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrSeveral: the file is several of torch.save behind one another, of which the last
// one's directory would be looked for in the first.
var ErrSeveral = errors.New("several files of torch.save lie in it, one behind the other")

// checkStart refuses a zip that begins at byte start, behind another.
func (a *archive) checkStart(start int64) error {
	if start <= 0 {
		return nil // what is wrong is told where it is read
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

// maxParts bounds how many files may lie in one.
const maxParts = 1 << 15

// Part is one of several files of torch.save in a file, for Read of a section.
type Part struct{ Offset, Size int64 }

// Parts finds the files of torch.save that lie behind one another in the size bytes
// behind r; see ErrSeveral. It reads the end of each.
func Parts(r io.ReaderAt, size int64) ([]Part, error) {
	var parts []Part
	for end := size; end > 0; {
		p, err := lastPart(&archive{r: r, size: end})
		if err != nil {
			return nil, err
		}
		if parts = append(parts, p); len(parts) > maxParts {
			return nil, fmt.Errorf("more than %d files of torch.save lie in it", maxParts)
		}
		end = p.Offset
	}
	slices.Reverse(parts)
	return parts, nil
}

// lastPart is the zip that ends where a does: its size is the sum of what its end
// record says and the records themselves.
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
		return Part{}, fmt.Errorf("the file of torch.save that ends at byte %d is said to have a directory of %d bytes behind %d", a.size, length, offset)
	}
	return Part{start, a.size - start}, nil
}
