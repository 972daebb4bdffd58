package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the figures of isa.md as bars")

const (
	barsFile = "bars.txt"
	barsHead = `# The worst figures that kernels may have in docs/benchmarks/isa.md: those that a card
# takes first, and all others but plain and tiled. Written by
#
#   go test ./tests/isa -run TestBars -update
#
# card | shader | layer | kernel | storage | local memory at most: bytes on AMD and NVIDIA,
# spills on Intel, accesses on Adreno | share of multiply-adds | share of matrix products;
# shares may be 0.02 below
`
)

// figures are the columns of a row that have a bar.
type figures struct {
	local                int
	multiplyAdds, matrix int // hundredths of the inner loop
}

// slack is how far a share may fall below its bar, in hundredths.
const slack = 2

// heldRows returns the rows of a page that have bars, by "card | shader | layer |
// kernel | storage".
func heldRows(page string) (map[string]figures, error) {
	rows := map[string]figures{}
	card := ""
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			card, _, _ = strings.Cut(title, ":")
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if card == "" || len(cells) != 11 || strings.TrimSpace(cells[0]) == "shader" || strings.HasPrefix(cells[0], "-") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		kernel := strings.Trim(cells[2], "*")
		if first := kernel != cells[2]; !first && (kernel == "plain" || kernel == "tiled") {
			continue
		}
		cells[2] = kernel
		f, err := readFigures(cells[6], cells[8], cells[9])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
		rows[strings.Join(append([]string{card}, cells[:4]...), " | ")] = f
	}
	return rows, nil
}

func readFigures(local, multiplyAdds, matrix string) (f figures, err error) {
	if f.local, err = strconv.Atoi(local); err != nil {
		return f, err
	}
	if f.multiplyAdds, err = hundredths(multiplyAdds); err != nil {
		return f, err
	}
	f.matrix, err = hundredths(matrix)
	return f, err
}

func hundredths(share string) (int, error) {
	if share == "" { // no loop that multiplies
		return 0, nil
	}
	f, err := strconv.ParseFloat(share, 64)
	return int(math.Round(100 * f)), err
}

// line is a row of bars.txt; readBars reads them.
func (f figures) line(row string) string {
	return fmt.Sprintf("%s | %d | %.2f | %.2f\n", row, f.local, float64(f.multiplyAdds)/100, float64(f.matrix)/100)
}

func readBars(text string) (map[string]figures, error) {
	bars := map[string]figures{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(cells) != 8 {
			return nil, fmt.Errorf("%s: %q: found %d cells, expected 8", barsFile, line, len(cells))
		}
		f, err := readFigures(cells[5], cells[6], cells[7])
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", barsFile, line, err)
		}
		bars[strings.Join(cells[:5], " | ")] = f
	}
	return bars, nil
}

// compare returns a line for each row that misses its bar, or is gone, and for each that
// exceeds it, or has none. If another kernel comes first, the bar of the former one has
// no row.
func compare(rows, bars map[string]figures) (worse, better []string) {
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		f := rows[row]
		bar, ok := bars[row]
		if !ok {
			better = append(better, row+" has no bar yet")
			continue
		}
		for _, c := range []struct {
			what             string
			is, bar, allowed int // where less is worse
		}{
			{"local memory", -f.local, -bar.local, 0},
			{"share of multiply-adds", f.multiplyAdds, bar.multiplyAdds, slack},
			{"share of matrix products", f.matrix, bar.matrix, slack},
		} {
			if c.is == c.bar {
				continue
			}
			line := fmt.Sprintf("%s: %s is %s, its bar %s", row, c.what, shown(c.is), shown(c.bar))
			if c.is < c.bar-c.allowed {
				worse = append(worse, line)
			} else if c.is > c.bar {
				better = append(better, line)
			}
		}
	}
	for _, row := range slices.Sorted(maps.Keys(bars)) {
		if _, ok := rows[row]; !ok {
			worse = append(worse, row+" has a bar, but no row that it holds")
		}
	}
	return worse, better
}

// shown is a figure of compare: a share in hundredths, or minus what is in local memory.
func shown(n int) string {
	if n <= 0 {
		return strconv.Itoa(-n)
	}
	return fmt.Sprintf("%.2f", float64(n)/100)
}

// The compiled kernels that cards take are not worse than they were: no more in local
// memory, no smaller share of products. The page is docs/benchmarks/isa.md, or PAGE.
func TestBars(t *testing.T) {
	page, err := os.ReadFile(cmp.Or(os.Getenv("PAGE"), "../../docs/benchmarks/isa.md"))
	require.NoError(t, err)
	rows, err := heldRows(string(page))
	require.NoError(t, err)
	require.Greater(t, len(rows), 100, "rows of kernels that cards take first")
	if *update {
		text := barsHead
		for _, row := range slices.Sorted(maps.Keys(rows)) {
			text += rows[row].line(row)
		}
		require.NoError(t, os.WriteFile(barsFile, []byte(text), 0o600))
	}
	text, err := os.ReadFile(barsFile)
	require.NoError(t, err)
	bars, err := readBars(string(text))
	require.NoError(t, err)
	worse, better := compare(rows, bars)
	if len(better) > 0 {
		t.Logf("%d figures are better than their bars or have none; raise them with go test ./tests/isa -run TestBars -update:\n%s", len(better), strings.Join(better, "\n"))
	}
	require.Empty(t, worse, "compiled kernels are worse than tests/isa/bars.txt; if that is meant: go test ./tests/isa -run TestBars -update")
}

// Rows are held where a card takes them first, or where they are of halves or matrices;
// a worse figure is found, a better one told apart.
func TestBarsHold(t *testing.T) {
	page := func(spills int, share, matrix string) string {
		return fmt.Sprintf(`# Page

| no | table | of | a | card | x | x | x | x | x | x |

## Arc B580: Intel, Mesa 26

Commit 1, 2026-01-01.

| shader | layer | kernel | storage | registers | SIMD | spills | inner loop | multiply-adds | matrix | at most TFLOP/s |
|---|---|---|---|---|---|---|---|---|---|---|
| conv3d | 3 taps | **plain** | f32 | 128 | 16 | %d | 1000 | %s | 0.00 | |
| conv3d_tiled | 3 taps | tiled | f32 | 128 | 16 | 2775 | 1000 | 0.05 | 0.00 | |
| pointwise_matrix | 1 tap | matrix | f16 | 128 | 16 | 0 | 200 | 0.00 | %s | |
| attention_softmax | 512 channels | **plain** | f32 | 128 | 32 | 0 | none that multiplies | | | |
`, spills, share, matrix)
	}
	rows := func(text string) map[string]figures {
		rows, err := heldRows(text)
		require.NoError(t, err)
		return rows
	}
	first := rows(page(4, "0.65", "0.25"))
	conv := "Arc B580 | conv3d | 3 taps | plain | f32"
	require.Equal(t, map[string]figures{
		conv: {4, 65, 0},
		"Arc B580 | pointwise_matrix | 1 tap | matrix | f16":        {0, 0, 25},
		"Arc B580 | attention_softmax | 512 channels | plain | f32": {0, 0, 0},
	}, first)

	text := barsHead
	for row, f := range first {
		text += f.line(row)
	}
	bars, err := readBars(text)
	require.NoError(t, err)
	require.Equal(t, first, bars)

	worse, better := compare(rows(page(4, "0.63", "0.23")), bars)
	require.Empty(t, worse, "two hundredths are noise")
	require.Empty(t, better)
	worse, better = compare(rows(page(5, "0.62", "0.22")), bars)
	require.Equal(t, []string{
		conv + ": local memory is 5, its bar 4",
		conv + ": share of multiply-adds is 0.62, its bar 0.65",
		"Arc B580 | pointwise_matrix | 1 tap | matrix | f16: share of matrix products is 0.22, its bar 0.25",
	}, worse)
	require.Empty(t, better)
	worse, better = compare(rows(page(0, "0.66", "0.25")), bars)
	require.Empty(t, worse)
	require.Equal(t, []string{conv + ": local memory is 0, its bar 4", conv + ": share of multiply-adds is 0.66, its bar 0.65"}, better)

	delete(bars, conv)
	bars["Adreno 740 | conv3d | 3 taps | plain | f32"] = figures{}
	worse, better = compare(first, bars)
	require.Equal(t, []string{"Adreno 740 | conv3d | 3 taps | plain | f32 has a bar, but no row that it holds"}, worse)
	require.Equal(t, []string{conv + " has no bar yet"}, better)
}
