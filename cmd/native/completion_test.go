package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completed runs a shell's program that prints the offers for a line, one per line.
func completed(t *testing.T, program, line string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(args[0], append(args[1:], program, line)...)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &said
	write(t, filepath.Join(cmd.Dir, "my clip.mp4"), nil)
	require.NoError(t, cmd.Run(), "%s%s", out.String(), said.String())
	require.Empty(t, said.String())
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// shell returns the path of an installed shell.
func shell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s isn't installed", name)
	}
	return path
}

// script writes the program's script for a shell to a file.
func script(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, []byte(succeed(t, "completion", name).stdout))
	return path
}

// offers are the expected completions of command lines in any shell.
var offers = []struct {
	line    string
	with    []string
	without []string
}{
	{"tessera ", []string{"decode", "encode", "completion"}, []string{"--json"}},
	{"tessera de", []string{"decode", "demo", "devices"}, []string{"encode"}},
	{"tessera decode --ti", []string{"--tile", "--tiling"}, []string{"--seed", "--json"}},
	{"tessera encode --see", []string{"--seed"}, nil},
	{"tessera decode --tiling ", []string{"exact", "feather", "diffusers"}, []string{"default"}},
	{"tessera --json decode --backend v", []string{"vulkan"}, []string{"metal"}},
	{"tessera completion ", []string{"bash", "zsh"}, nil},
}

// Bash with the script offers commands, flags and their values.
func TestCompletionOfBash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("bash is not at home there")
	}
	path, err := exec.LookPath("bash")
	require.NoError(t, err)
	ask := `source "$0"
line=$1
read -ra COMP_WORDS <<< "${line//=/ = }"
[[ $line == *" " || $line == *= ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tessera 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"`
	program := script(t, "bash")
	for _, c := range append(offers, struct {
		line    string
		with    []string
		without []string
	}{"tessera decode --tiling=e", []string{"exact"}, []string{"feather"}}) {
		got := completed(t, program, c.line, path, "--norc", "-c", ask)
		assert.Subset(t, got, c.with, c.line)
		assert.NotContains(t, got, c.without, c.line)
		for _, w := range c.without {
			assert.NotContains(t, got, w, c.line)
		}
	}
	assert.Equal(t, []string{""}, completed(t, program, "tessera decode -m ", path, "--norc", "-c", ask), "files are readline's")
}

// Fish does so too; its help follows a tab.
func TestCompletionOfFish(t *testing.T) {
	path := shell(t, "fish")
	t.Setenv("HOME", t.TempDir())
	program := script(t, "fish")
	for _, c := range offers {
		got := completed(t, program, c.line, path, "--no-config", "-c", `source $argv[1]; complete -C $argv[2] | string replace -r '\t.*' ''; or true`)
		assert.Subset(t, got, c.with, c.line)
		for _, w := range c.without {
			assert.NotContains(t, got, w, c.line)
		}
	}
	assert.Contains(t, completed(t, program, "tessera decode -m my", path, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`), "my clip.mp4")
}

// Zsh accepts the script, and completes in a terminal.
func TestCompletionOfZsh(t *testing.T) {
	path := shell(t, "zsh")
	program := script(t, "zsh")
	ask := `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; PROMPT_EOL_MARK=; autoload -Uz compinit && compinit -D -u; setopt no_list_beep; zstyle ":completion:*" list-prompt ""; LISTMAX=0'
zpty -w z "source ${(q)0}"
zpty -w z 'bindkey "^I" complete-word; setopt no_auto_menu; print READY'
while zpty -r z line; do [[ $line == *READY[$'\r\n']* && $line != *print* ]] && break; done
zpty -w -n z "$1"$'\t\t'
sleep 1
zpty -w -n z $'\C-u'
zpty -w z 'print ENDED'
while zpty -r z line; do print -r -- "$line"; [[ $line == *ENDED[$'\r\n']* && $line != *print* ]] && break; done
zpty -d z`
	for line, want := range map[string][]string{
		"tessera e":                    {"tessera encode"},
		"tessera decode --prec":        {"--precision="},
		"tessera decode --backend met": {"metal"},
	} {
		cmd := exec.Command(path, "-f", "-c", ask, program, line)
		cmd.Env = append(os.Environ(), "TERM=dumb", "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, w := range want {
			assert.Contains(t, string(out), w, line)
		}
	}
}

// PowerShell's script names everything, and runs if PowerShell is installed.
func TestCompletionOfPowerShell(t *testing.T) {
	program := script(t, "powershell")
	b, err := os.ReadFile(program)
	require.NoError(t, err)
	assert.Contains(t, string(b), "Register-ArgumentCompleter")
	assert.Equal(t, strings.Count(string(b), "{"), strings.Count(string(b), "}"))
	path := shell(t, "pwsh")
	for _, c := range offers {
		ask := fmt.Sprintf(". '%s'; (TabExpansion2 '%s' %d).CompletionMatches.CompletionText", program, c.line, len(c.line))
		out, err := exec.Command(path, "-NoProfile", "-Command", ask).Output()
		require.NoError(t, err)
		assert.Subset(t, strings.Fields(string(out)), c.with, c.line)
	}
}

// The manual page has every command and flag, and groff reports nothing.
func TestManual(t *testing.T) {
	page := succeed(t, "man").stdout
	for _, c := range commands() {
		assert.Contains(t, page, "\n.SS "+c+"\n")
		assert.NotContains(t, page, "\n.SS "+c+"\n.", "a command without help")
	}
	for _, flag := range []string{"\\-\\-tiling=TILING", "\\-m, \\-\\-model=MODEL", "TESSERA_MODEL", "\\-\\-[no\\-]independent\\-frames"} {
		assert.Contains(t, page, flag)
	}
	groff := shell(t, "groff")
	cmd := exec.Command(groff, "-k", "-man", "-Tutf8", "-ww", "-rCHECKSTYLE=3")
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(page), &out, &said
	require.NoError(t, cmd.Run())
	assert.Empty(t, said.String())
	assert.Contains(t, out.String(), "tessera demo")
}
