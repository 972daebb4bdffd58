//go:build !windows

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/known"
	"tessera/tests/testenv"
)

// guides are the pages of docs/guides whose commands TestGuides runs. Each has a Turkish
// version, NAME.tr.md, with the same commands.
var guides = []string{"start", "troubleshooting", "choosing", "less"}

// guide is what a page has besides prose.
type guide struct {
	commands []guideCommand
	shape    []string // headings, list items, table rows with their commands, and fenced blocks, in order
	words    int
}

// guideCommand is a line of an sh block, or an inline command in a table, and the lines of its
// output that a text block below it shows.
type guideCommand struct {
	text  string
	shown []string
}

// long is whether a command is left to make test-all: one of the many jobs in tables, the
// demo, whose clip has 17 frames of 256x256, or a bench.
func (c guideCommand) long() bool {
	return strings.Contains(c.text, "…") || strings.HasPrefix(c.text, "tessera demo") || strings.HasPrefix(c.text, "tessera bench")
}

// inline is a command in a table, in which … stands for model, input and output.
var inline = regexp.MustCompile("`(tessera [^`]+)`")

// word is what counts as one.
var word = regexp.MustCompile(`[^\s|]*[\pL\d][^\s|]*`)

// readGuide reads a page. Every fenced block is sh or text: an sh block holds commands, one
// a line; a text block directly below holds lines of the last command's output.
func readGuide(t *testing.T, name string) (g guide) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../../docs/guides", name))
	require.NoError(t, err)
	fence := ""
	for i, line := range strings.Split(string(page), "\n") {
		at := fmt.Sprintf("docs/guides/%s:%d", name, i+1)
		if language, ok := strings.CutPrefix(line, "```"); ok {
			if fence == "" {
				require.Contains(t, []string{"sh", "text", "python"}, language, at)
				fence = language
			} else {
				fence = ""
			}
			g.shape = append(g.shape, line)
			continue
		}
		g.words += len(word.FindAllString(line, -1))
		switch {
		case fence == "sh":
			require.True(t, strings.HasPrefix(line, "tessera "), "%s: an sh block holds commands of tessera, one a line", at)
			g.commands = append(g.commands, guideCommand{text: line})
			g.shape = append(g.shape, line)
		case fence == "text":
			require.NotEmpty(t, g.commands, "%s: a text block holds output of the command above", at)
			last := &g.commands[len(g.commands)-1]
			last.shown = append(last.shown, line)
			g.shape = append(g.shape, line)
		case fence != "":
			g.shape = append(g.shape, line)
		case strings.HasPrefix(line, "|"):
			row := "row"
			for _, found := range inline.FindAllStringSubmatch(line, -1) {
				g.commands = append(g.commands, guideCommand{text: found[1]})
				row += " " + found[0]
			}
			g.shape = append(g.shape, row)
		case strings.HasPrefix(line, "#"):
			g.shape = append(g.shape, strings.Fields(line)[0]+" heading")
		case strings.HasPrefix(line, "- "):
			g.shape = append(g.shape, "item")
		case strings.HasPrefix(line, "!["):
			g.shape = append(g.shape, "picture")
		}
	}
	require.Empty(t, fence, "%s: a block without an end", name)
	return g
}

// Every command of the guides works: in a folder with the small checkpoint, a small clip in
// place of the demo's, and a server in place of Hugging Face.
func TestGuides(t *testing.T) {
	needDevice(t)
	if !haveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: the guides write .mp4")
	}
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			hub(t, "qwen-image", qwen(t))
			t.Setenv("PATH", filepath.Dir(built.program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			dir := guideFolder(t)
			commands := readGuide(t, name+".md").commands
			if slices.ContainsFunc(commands, guideCommand.long) && testenv.Short(t) {
				commands = slices.DeleteFunc(commands, guideCommand.long)
			}
			for _, c := range commands {
				runGuide(t, dir, c)
			}
		})
	}
}

// guideFolder is a folder as the guides' reader has it.
func guideFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "assets"), 0o777))
	small, err := filepath.Abs(tiny)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(small, filepath.Join(dir, "assets", filepath.Base(tiny))))
	require.NoError(t, os.Rename(demoClip(t, 5, 32, 32), filepath.Join(dir, "assets", "demo")))
	sound := exec.Command("ffmpeg", "-v", "error", "-i", filepath.Join(dir, "assets", "demo", "frame_%04d.png"),
		"-f", "lavfi", "-i", "sine", "-shortest", filepath.Join(dir, "clip.mp4"))
	out, err := sound.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// given are the arguments that … stands for.
var given = strings.NewReplacer(
	"tessera decode …", "tessera decode -m assets/tiny-seedvr2.safetensors latent.safetensors -o out.mp4",
	"tessera encode …", "tessera encode -m assets/tiny-seedvr2.safetensors clip.mp4 -o encoded.safetensors",
	"tessera roundtrip …", "tessera roundtrip -m assets/tiny-seedvr2.safetensors clip.mp4 -o again.mp4",
)

// runGuide runs a command as a shell would, and looks for what the guide shows of its output.
func runGuide(t *testing.T, dir string, c guideCommand) {
	t.Helper()
	shell := exec.Command("sh", "-c", given.Replace(c.text))
	shell.Dir = dir
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	err := shell.Run()
	if !assert.NoError(t, err, "%s\n%s%s", c.text, stdout.String(), stderr.String()) {
		return
	}
	for _, line := range c.shown {
		assert.Contains(t, strings.Split(stdout.String(), "\n"), line, "%s", c.text)
	}
}

// A Turkish guide has the headings, lists, tables, commands and pictures of the English one,
// and neither is longer than a thousand words.
func TestGuidesInTurkish(t *testing.T) {
	for _, name := range guides {
		english, turkish := readGuide(t, name+".md"), readGuide(t, name+".tr.md")
		assert.Equal(t, english.shape, turkish.shape, name)
		assert.Less(t, english.words, 1000, name)
		assert.Less(t, turkish.words, 1000, name)
	}
}

// The guide to starting names each published checkpoint, but for second files of a model.
func TestGuideNamesCheckpoints(t *testing.T) {
	for _, name := range []string{"start.md", "start.tr.md"} {
		page, err := os.ReadFile(filepath.Join("../../docs/guides", name))
		require.NoError(t, err)
		want, got := map[string]bool{}, map[string]bool{}
		for _, c := range known.Checkpoints {
			if !strings.HasSuffix(c.Name, "-f32") {
				want[c.Name] = true
			}
		}
		for _, row := range regexp.MustCompile("(?m)^\\|[^|]+\\|((?: *`[a-z0-9._-]+`,?)+) *\\|$").FindAllStringSubmatch(string(page), -1) {
			for _, cell := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				got[cell[1]] = true
			}
		}
		assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), name)
	}
}
