// Command dawn lists the adapters that Dawn finds on this machine, or says why there
// are none. tools/deps.sh runs it to decide whether to install a driver.
package main

import (
	"flag"
	"fmt"
	"os"

	"tessera/gpu"
)

func main() {
	backend := flag.String("backend", "auto", "auto, vulkan, d3d12 or metal")
	library := flag.String("dawn", "", "path of the Dawn library; empty searches")
	flag.Parse()
	list, err := gpu.Adapters(gpu.Options{Backend: *backend, Library: *library, Adapter: -1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, a := range list {
		fmt.Printf("%d %s (%s, %s, %s)\n  f16 %t, subgroups %t %d-%d, timestamps %t, memory %d MiB, %s\n",
			a.Index, a.Name, a.Backend, a.Type, a.Driver,
			a.F16, a.Subgroups, a.SubgroupMin, a.SubgroupMax, a.Timestamps, a.Memory>>20, a.Library)
	}
}
