package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Shard is part I of N of the clips; the zero Shard contains all of them.
type Shard struct{ I, N uint64 }

// UnmarshalText reads I/N.
func (f *Shard) UnmarshalText(text []byte) error {
	first, second, _ := strings.Cut(string(text), "/")
	i, err := strconv.ParseUint(first, 10, 31)
	n, nerr := strconv.ParseUint(second, 10, 31)
	if err != nil || nerr != nil || i >= n {
		return fmt.Errorf("%q, expected a part and the number of parts, 0/8 to 7/8 for 8 parts", text)
	}
	*f = Shard{i, n}
	return nil
}

// Has reports whether a clip belongs to this part: the first 8 bytes of its name's
// SHA-256, big-endian, modulo N equal I.
func (f Shard) Has(name string) bool {
	sum := sha256.Sum256([]byte(name))
	return f.N < 2 || binary.BigEndian.Uint64(sum[:])%f.N == f.I
}
