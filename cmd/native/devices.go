package main

import (
	"fmt"
	"strings"

	"tessera/app/job"
	"tessera/engine"
	"tessera/gpu"
)

type devicesCmd struct {
	Backend string `group:"device" enum:"auto,vulkan,d3d12,metal" default:"auto" env:"TESSERA_BACKEND" help:"Graphics API: auto, vulkan, d3d12 or metal."`
	Dawn    string `group:"device" placeholder:"FILE" help:"Dawn library; default: searched beside the program, in the user's cache and the system."`
}

// Help is shown below the flags.
func (devicesCmd) Help() string {
	return `The one marked * is taken unless --adapter says otherwise.

    tessera devices`
}

// device is an adapter as JSON tells it.
type device struct {
	adapter
	Driver      string `json:"driver"`
	Vendor      string `json:"vendor"`
	Arch        string `json:"architecture"`
	Taken       bool   `json:"taken"`
	F16         bool   `json:"f16"`
	Subgroups   bool   `json:"subgroups"`
	SubgroupMin int    `json:"subgroup_min"`
	SubgroupMax int    `json:"subgroup_max"`
	Timestamps  bool   `json:"timestamps"`
	Memory      int64  `json:"memory_bytes"`
	Budget      int64  `json:"default_budget_bytes"`
	Limits      limits `json:"limits"`
}

// limits are gpu.Limits as JSON tells them.
type limits struct {
	MaxBuffer          int64  `json:"max_buffer"`
	MaxBinding         int64  `json:"max_binding"`
	MaxStorageBuffers  int    `json:"max_storage_buffers"`
	MaxWorkgroupMemory int    `json:"max_workgroup_memory"`
	MaxInvocations     int    `json:"max_invocations"`
	MaxWorkgroupSize   [3]int `json:"max_workgroup_size"`
	MaxGroups          uint32 `json:"max_groups"`
	StorageAlignment   int64  `json:"storage_alignment"`
	UniformAlignment   int64  `json:"uniform_alignment"`
}

func (c *devicesCmd) Run(a *app) error {
	o := gpu.Options{Backend: c.Backend, Adapter: -1, Library: c.Dawn}
	var all []gpu.Info
	var err error
	quietly(func() { all, err = gpu.Adapters(o) })
	if err != nil {
		return job.Mark(err, job.ErrNoDevice)
	}
	taken, passed, openErr := best(o)
	list := make([]device, len(all))
	for i, d := range all {
		list[i] = device{
			adapter: newAdapter(d), Driver: d.Driver, Vendor: d.Vendor, Arch: d.Architecture, Taken: d.Index == taken, F16: d.F16,
			Subgroups: d.Subgroups, SubgroupMin: d.SubgroupMin, SubgroupMax: d.SubgroupMax,
			Timestamps: d.Timestamps, Memory: d.Memory, Budget: engine.Budget(d), Limits: limits(d.Limits),
		}
	}
	if a.json && openErr == nil {
		return a.print(struct {
			build
			Library string   `json:"library"`
			Passed  []string `json:"not_used,omitempty"`
			Devices []device `json:"devices"`
		}{programVersion(), all[0].Library, passed, list})
	}
	if !a.json {
		for _, d := range list {
			a.describe(d)
		}
		a.say("Dawn: %s", all[0].Library)
		for _, reason := range passed {
			a.say("not used: %s", reason)
		}
	}
	return openErr
}

// best is the index of the adapter that is taken by default, which is the first
// that opens, and why others were not; -1 where none does.
func best(o gpu.Options) (index int, passed []string, err error) {
	dev, err := openDevice(o)
	if err != nil {
		return -1, nil, job.Mark(err, job.ErrNoDevice)
	}
	if text := dev.Info().Passed; text != "" {
		passed = strings.Split(text, "\n")
	}
	return dev.Info().Index, passed, dev.Close()
}

// describe prints an adapter for people.
func (a *app) describe(d device) {
	mark := " "
	if d.Taken {
		mark = "*"
	}
	has := func(there bool) string {
		if there {
			return "yes"
		}
		return "no"
	}
	subgroups := has(d.Subgroups)
	if d.Subgroups {
		subgroups = fmt.Sprintf("%d to %d", d.SubgroupMin, d.SubgroupMax)
	}
	memory := "not told"
	if d.Memory > 0 {
		memory = engine.Bytes(d.Memory)
	}
	l := d.Limits
	a.say("%s %d  %s", mark, d.Index, d.Name)
	a.say("     %s, %s, driver %s", d.Backend, d.Type, d.Driver)
	a.say("     f16 %s, subgroups %s, timestamps %s", has(d.F16), subgroups, has(d.Timestamps))
	a.say("     memory %s, of which %s are used by default", memory, engine.Bytes(d.Budget))
	a.say("     buffer %s, binding %s, %d storage bindings", engine.Bytes(l.MaxBuffer), engine.Bytes(l.MaxBinding), l.MaxStorageBuffers)
	a.say("     workgroups of %d, %s, %d along an axis", l.MaxInvocations, engine.Bytes(int64(l.MaxWorkgroupMemory)), l.MaxGroups)
}
