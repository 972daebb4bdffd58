package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

const flagsPage = "../../docs/reference/cli.md"

var updateFlags = flag.Bool("update", false, "rewrite the table of all flags in "+flagsPage)

// The table of all flags is the program's help: go test ./cmd/native -run TestFlagsPage -update
// writes it.
func TestFlagsPage(t *testing.T) {
	var c cli
	model := newParser(&c).Model
	page, err := os.ReadFile(flagsPage)
	require.NoError(t, err)
	const heading = "\n## All flags\n"
	before, _, found := strings.Cut(string(page), heading)
	require.True(t, found, "no heading %q", heading)
	want := before + heading + flagTables(model)
	if *updateFlags {
		require.NoError(t, os.WriteFile(flagsPage, []byte(want), 0o666))
		return
	}
	require.Equal(t, want, string(page))
}

// flagTables lists each flag once under its heading, with the commands that have it. If its
// help differs from command to command, it has a row for each.
func flagTables(m *kong.Application) string {
	type entry struct {
		flag     *kong.Flag
		text     string
		commands []string
	}
	var all []*kong.Flag
	rows := map[*kong.Flag]*entry{}
	add := func(f *kong.Flag, command string) {
		text := fullText(f.Value)
		for _, known := range all {
			if flagName(known) == flagName(f) && rows[known].text == text && known.Group.Key == f.Group.Key {
				rows[known].commands = append(rows[known].commands, command)
				return
			}
		}
		all, rows[f] = append(all, f), &entry{f, text, []string{command}}
	}
	for _, n := range m.Children {
		for _, f := range n.Flags {
			add(f, n.Name)
		}
	}
	for _, f := range m.Flags {
		add(f, "every")
	}
	var b strings.Builder
	b.WriteString("\nGenerated from the program.\n")
	cell := strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace
	for _, s := range sections(all) {
		slices.SortStableFunc(s.flags, func(x, y *kong.Flag) int { return strings.Compare(x.Name, y.Name) })
		fmt.Fprintf(&b, "\n### %s\n\n| flag | commands | |\n|---|---|---|\n", s.title)
		for _, f := range s.flags {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(flagName(f), "|", `\|`), strings.Join(rows[f].commands, ", "), cell(rows[f].text))
		}
	}
	return b.String()
}
