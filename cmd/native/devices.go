package main

import (
	"fmt"
	"os"
	"strings"

	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/engine"
	"tessera/gpu"
	"tessera/tune"
)

type devicesCmd struct {
	Backend string `group:"device" enum:"auto,vulkan,d3d12,metal" default:"auto" env:"TESSERA_BACKEND" help:"Graphics API: auto, vulkan, d3d12 or metal."`
	Dawn    string `group:"device" placeholder:"FILE" help:"Dawn library; default: searched beside the program, in the user's cache and in the system."`
	flags.ShaderCache
}

// Help is shown below the flags.
func (devicesCmd) Help() string {
	return `The adapter marked * is the default; --adapter selects another.

    tessera devices`
}

// device is an adapter in JSON.
type device struct {
	report.Adapter
	Driver      string `json:"driver"`
	Vendor      string `json:"vendor"`
	Arch        string `json:"architecture"`
	Taken       bool   `json:"taken"`
	Why         string `json:"why_backend,omitempty"`
	F16         bool   `json:"f16"`
	NoF16       string `json:"no_f16,omitempty"`
	Subgroups   bool   `json:"subgroups"`
	SubgroupMin int    `json:"subgroup_min"`
	SubgroupMax int    `json:"subgroup_max"`

	Matrices []matrix    `json:"matrices"`
	Kernels  tune.Record `json:"kernels"`

	Timestamps bool   `json:"timestamps"`
	Memory     int64  `json:"memory_bytes"`
	Budget     int64  `json:"default_budget_bytes"`
	Limits     limits `json:"limits"`
}

// matrix is gpu.Matrix in JSON.
type matrix struct {
	M   int    `json:"m"`
	N   int    `json:"n"`
	K   int    `json:"k"`
	In  string `json:"in"`
	Out string `json:"out"`
}

// limits are gpu.Limits in JSON.
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
	t := a.Terminal
	o := gpu.Options{Backend: c.Backend, Adapter: -1, Library: c.Dawn, NoCache: c.NoCache}
	all, err := machine.Adapters(o)
	if err != nil {
		return job.Mark(err, job.ErrNoDevice)
	}
	taken, why, passed, openErr := c.best(a, o)
	list := make([]device, len(all))
	for i, d := range all {
		list[i] = newDevice(tried(o, d))
		if list[i].Taken = d.Index == taken; list[i].Taken {
			list[i].Why = why
		}
		if list[i].Kernels, err = new(tune.Tuner).Known(d); err != nil {
			return err
		}
	}
	if t.JSON && openErr == nil {
		return t.Print(struct {
			build
			Library string   `json:"library"`
			Passed  []string `json:"not_used,omitempty"`
			Devices []device `json:"devices"`
		}{programVersion(), all[0].Library, passed, list})
	}
	if !t.JSON {
		for _, d := range list {
			d.print(t)
		}
		t.Say("Dawn: %s", all[0].Library)
		for _, reason := range passed {
			t.Say("not used: %s", reason)
		}
	}
	return openErr
}

// tried adds what opening an adapter reveals.
func tried(o gpu.Options, i gpu.Info) gpu.Info {
	if !i.UnprovenF16 {
		return i
	}
	o.Adapter = i.Index
	dev, err := machine.OpenDevice(o)
	if err != nil {
		i.F16, i.NoF16 = false, "it does not open: "+err.Error()
		return i
	}
	defer dev.Close()
	return dev.Info()
}

func newDevice(i gpu.Info) device {
	d := device{
		Adapter: report.NewAdapter(i), Driver: i.Driver, Vendor: i.Vendor, Arch: i.Architecture, F16: i.F16, NoF16: i.NoF16,
		Subgroups: i.Subgroups, SubgroupMin: i.SubgroupMin, SubgroupMax: i.SubgroupMax, Matrices: []matrix{},
		Timestamps: i.Timestamps, Memory: i.Memory, Budget: engine.Budget(i), Limits: limits(i.Limits),
	}
	for _, m := range i.Matrices {
		d.Matrices = append(d.Matrices, matrix(m))
	}
	return d
}

// best returns the index of the default adapter, the first that opens, why it is opened
// through this graphics API, and why earlier ones did not open; -1 if none opens.
func (c *devicesCmd) best(a *app, o gpu.Options) (index int, why string, passed []string, err error) {
	_, off := os.LookupEnv("TESSERA_NO_TUNE")
	dev, why, err := machine.OpenFaster(a.ctx, machine.Tuner(a.Terminal, off, o.NoCache), o)
	if err != nil {
		return -1, "", nil, job.Mark(err, job.ErrNoDevice)
	}
	if text := dev.Info().Passed; text != "" {
		passed = strings.Split(text, "\n")
	}
	return dev.Info().Index, why, passed, dev.Close()
}

// print prints an adapter for people.
func (d device) print(t *terminal.Terminal) {
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
	t.Say("%s %d  %s", mark, d.Index, d.Name)
	t.Say("     %s, %s, driver %s", d.Backend, d.Type, d.Driver)
	if d.Why != "" {
		t.Say("     %s", d.Why)
	}
	f16 := has(d.F16)
	if d.NoF16 != "" {
		f16 += " (" + d.NoF16 + ")"
	}
	t.Say("     f16 %s, subgroups %s, timestamps %s", f16, subgroups, has(d.Timestamps))
	t.Say("     matrices %s", sizes(d.Matrices))
	printKernels(t, d.Kernels)
	t.Say("     memory %s, of which %s are used by default", memory, engine.Bytes(d.Budget))
	t.Say("     buffer %s, binding %s, %d storage bindings", engine.Bytes(l.MaxBuffer), engine.Bytes(l.MaxBinding), l.MaxStorageBuffers)
	t.Say("     workgroups of %d, %s, %d along an axis", l.MaxInvocations, engine.Bytes(int64(l.MaxWorkgroupMemory)), l.MaxGroups)
}

// printKernels prints what was measured of the kernels on an adapter.
func printKernels(t *terminal.Terminal, known tune.Record) {
	if len(known.Verifications)+len(known.Trials) == 0 {
		t.Say("     kernels not tried yet")
	}
	for _, p := range known.Verifications {
		t.Say("     kernel %v", p)
	}
	for _, k := range known.Trials {
		t.Say("     chosen %v", k)
	}
}

// sizes formats matrices as "f16 to f32 16x16x16, 16x8x16; f16 to f16 16x16x16".
func sizes(all []matrix) string {
	var kinds []string
	of := map[string][]string{}
	for _, m := range all {
		kind := m.In + " to " + m.Out
		if of[kind] == nil {
			kinds = append(kinds, kind)
		}
		of[kind] = append(of[kind], fmt.Sprintf("%dx%dx%d", m.M, m.N, m.K))
	}
	if kinds == nil {
		return "none"
	}
	for i, kind := range kinds {
		kinds[i] += " " + strings.Join(of[kind], ", ")
	}
	return strings.Join(kinds, "; ")
}
