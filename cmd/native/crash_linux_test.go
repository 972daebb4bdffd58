package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tests/testenv"
)

// brokenDriver is a Vulkan driver that misbehaves as soon as it is loaded.
const brokenDriver = `
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <unistd.h>

static void *fault(void *arg) { *(volatile int *)8 = 1; return arg; }

static void worst(void) {
	%s
}

int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned *version) { worst(); return -1; }
void *vk_icdGetInstanceProcAddr(void *instance, const char *name) { worst(); return 0; }
`

// driverFile builds a broken driver and returns its manifest's path.
func driverFile(t *testing.T, worst string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		testenv.Missing(t, "no C compiler: tools/deps.sh --test installs one")
	}
	dir := t.TempDir()
	source, library, manifest := filepath.Join(dir, "driver.c"), filepath.Join(dir, "driver.so"), filepath.Join(dir, "driver.json")
	require.NoError(t, os.WriteFile(source, fmt.Appendf(nil, brokenDriver, worst), 0o666))
	out, err := exec.Command(cc, "-shared", "-fPIC", "-pthread", "-o", library, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := fmt.Sprintf(`{"file_format_version": "1.0.0", "ICD": {"library_path": %q, "api_version": "1.1.0"}}`, library)
	require.NoError(t, os.WriteFile(manifest, []byte(text), 0o666))
	return manifest
}

// If a driver ends the program while it is loaded, everything that was printed appears,
// and so does what the program was doing.
func TestDriverEndsTheProgram(t *testing.T) {
	require.Equal(t, 0, tessera(t, "devices").code, "there is no working device to begin with")
	for name, c := range map[string]struct {
		worst string
		words []string
		code  int // -1: by a signal
	}{
		"fault":               {`fault(0);`, []string{"SIGSEGV"}, 2},
		"fault of a thread":   {`pthread_t t; pthread_create(&t, 0, fault, 0); pthread_join(t, 0);`, nil, -1},
		"abort":               {`fputs("driver: no such card\n", stderr); abort();`, []string{"driver: no such card\n", "SIGABRT"}, 2},
		"abort within a line": {`write(2, "driver: the card", 16); abort();`, []string{"driver: the card", "SIGABRT"}, 2},
		"exit":                {`fputs("Warning: maxNothing artificially reduced\ndriver: giving up\n", stderr); _exit(7);`, []string{"driver: giving up\n"}, 7},
		"kill":                {`fputs("driver: farewell\n", stderr); kill(getpid(), 9);`, []string{"driver: farewell\n"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := driverFile(t, c.worst)
			for _, command := range [][]string{{"devices"}, {"--json", "devices"}} {
				o := tesseraEnv(t, []string{"VK_DRIVER_FILES=" + manifest, "VK_ICD_FILENAMES=" + manifest}, command...)
				require.Equal(t, c.code, o.code, "%s", o.stderr)
				for _, w := range append(c.words, "tessera: ended while the Vulkan drivers were being loaded", "VK_DRIVER_FILES") {
					require.Contains(t, o.stderr, w)
				}
				require.NotContains(t, o.stderr, "artificially")
				require.True(t, strings.HasSuffix(o.stderr, "\n"))
			}
		})
	}
}

// A working driver's output is passed on, whole and in order, without Dawn's messages and
// without a report of an end.
func TestDriverPrints(t *testing.T) {
	manifest := driverFile(t, `
	for (int i = 0; i < 20000; i++) fprintf(stderr, "driver: line %d\n", i);
	fputs("no end of line", stderr);`)
	o := tesseraEnv(t, []string{"VK_DRIVER_FILES=" + manifest, "VK_ICD_FILENAMES=" + manifest}, "devices")
	require.Equal(t, job.ExitDevice, o.code, "%s", o.stderr)
	require.Contains(t, o.stderr, "driver: line 0\ndriver: line 1\n")
	require.Contains(t, o.stderr, "driver: line 19998\ndriver: line 19999\n")
	require.Contains(t, o.stderr, "no end of line")
	require.NotContains(t, o.stderr, "ended while")
	require.NotContains(t, o.stderr, "\x00")
	require.Greater(t, strings.LastIndex(o.stderr, "\ntessera: "), strings.LastIndex(o.stderr, "driver:"), "the program's own error comes last")

	o = tessera(t, "devices")
	require.Empty(t, o.stderr, "of a driver that works")
}

// A process that a driver leaves behind with standard error does not delay the program
// for long.
func TestDriverLeavesAProcess(t *testing.T) {
	manifest := driverFile(t, `if (fork() == 0) { close(1); sleep(20); fputs("too late\n", stderr); _exit(0); }`)
	cmd := exec.Command("timeout", "15", built.program, "devices")
	cmd.Env = append(os.Environ(), "VK_DRIVER_FILES="+manifest, "VK_ICD_FILENAMES="+manifest)
	cmd.Stdout, cmd.Stderr = nil, nil
	_ = cmd.Run()
	require.Equal(t, job.ExitDevice, cmd.ProcessState.ExitCode())
}
