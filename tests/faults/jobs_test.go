//go:build linux

package faults

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Jobs of four clients, each with one job after the other, have the same results as
// single jobs, and at the end the server's records match its disk. FAULTS=260 runs
// 10,400 jobs, more than it keeps.
func TestManyJobs(t *testing.T) {
	needs(t, false)
	jobs := t.TempDir()
	s := serve(t, "--jobs", jobs)
	l := newLoad(t, s)
	l.prepareGood()
	var good []*good
	for _, g := range l.good {
		if g.isJob() {
			good = append(good, g)
		}
	}
	memory, r := s.peak(t), random(t)
	var all sync.WaitGroup
	for client := range 4 {
		from, r := byte(2+client), rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		all.Go(func() {
			for range 10 * count(t) {
				g := good[r.IntN(len(good))]
				j, status := l.job(from, "POST", g.path, g.body)
				if !assert.Equal(t, 201, status, j.Error) {
					return
				}
				j = l.ended(from, j.ID)
				assert.Equal(t, "done", j.State, j.Error)
				_, got := l.ask(from, "GET", "/v1/jobs/"+j.ID+"/content", nil)
				assert.True(t, bytes.Equal(g.want, got), "%s: another result than alone", g.path)
				l.count("done")
			}
		})
	}
	all.Wait()
	require.Equal(t, 40*count(t), l.counts["done"])
	assert.Less(t, s.peak(t), memory+512<<20, "bytes of memory, before it %d", memory)
	l.check(jobs)
	s.healthy(t)
}
