package batch

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each clip belongs to one of several shards, which its name alone decides.
func TestShards(t *testing.T) {
	for range 2 {
		count := map[uint64]int{}
		for i := range 400 {
			name := fmt.Sprintf("clip_%04d", i)
			parts := 0
			for part := range uint64(8) {
				if (Shard{part, 8}).Has(name) {
					parts++
					count[part]++
				}
			}
			assert.Equal(t, 1, parts, name)
		}
		for part, n := range count {
			assert.InDelta(t, 50, n, 25, "shard %d", part)
		}
	}
	assert.True(t, Shard{}.Has("any"))
	assert.True(t, Shard{0, 3}.Has("clip")) // 0x67905ad3cc2dd52b, modulo 3: other programs rely on it
	var f Shard
	for _, text := range []string{"", "1", "1/1", "-1/2", "0/0", "a/b", "0/2/3"} {
		assert.Error(t, f.UnmarshalText([]byte(text)), text)
	}
}
