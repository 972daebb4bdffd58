// Command test runs the project's checks, two steps at a time:
//
//	go run ./tools/test check        while working: what the change can touch
//	go run ./tools/test test         what shows the program right
//	go run ./tools/test all          everything; a step that passed with the same
//	                                 inputs (tests/passed) does not run again
//	go run ./tools/test STEP...      these steps, whether they passed or not
//	go run ./tools/test names        list the tests and cases that passed in those logs
//	go run ./tools/test names OLD [RENAMED]
//	                                 compare them with an older list; lines of RENAMED
//	                                 are "OLD NEW"
//
// steps.go has the steps. Each writes its output to build/test/STEP.log and the
// results of Go tests to build/test/STEP.json. Set GPU= to let tests that need a
// device skip without one, ADAPTER=any to use the adapter that the program
// would, or VK_DRIVER_FILES to name a Vulkan driver. LIMIT=40m ends the run after 40
// minutes and names the steps that are still due. The exit code is 1 where a step fails,
// 2 for a wrong argument.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		usage("no argument")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Args[1] == "names" {
		switch files := append(os.Args[2:], "", ""); len(os.Args) {
		case 2:
			end(printNames(os.Stdout))
		case 3, 4:
			end(compareNames(os.Stdout, files[0], files[1]))
		default:
			usage("names: expected at most two files")
		}
		return
	}
	r, err := chosen(os.Args[1:])
	if err != nil {
		usage(err.Error())
	}
	if limit, set := os.LookupEnv("LIMIT"); set {
		if r.limit, err = time.ParseDuration(limit); err != nil || r.limit <= 0 {
			usage(fmt.Sprintf("LIMIT=%q, expected a time such as 40m", limit))
		}
	}
	end(r.run(ctx))
}

// chosen is a run of what the command line asks for.
func chosen(args []string) (*run, error) {
	if s, ok := sets[args[0]]; ok && len(args) == 1 {
		return newRun(args[0], s), nil
	}
	var list []step
	for _, name := range args {
		at := slices.IndexFunc(steps, func(s step) bool { return s.name == name })
		if at < 0 {
			return nil, fmt.Errorf("unknown step %q", name)
		}
		list = append(list, steps[at])
	}
	return &run{list: list, again: true}, nil
}

func usage(why string) {
	fmt.Fprintf(os.Stderr, "test: %s; expected check, test, all, names or some of these steps:\n", why)
	for _, s := range steps {
		var of []string
		for _, name := range []string{"check", "test", "all"} {
			if s.in&sets[name] != 0 {
				of = append(of, name)
			}
		}
		fmt.Fprintf(os.Stderr, "  %-16s %-14s %s\n", s.name, strings.Join(of, " "), s.shows)
	}
	os.Exit(2)
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		os.Exit(1)
	}
}
