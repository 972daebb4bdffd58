package bench

import (
	"fmt"
	"strings"

	"tessera/app/terminal"
)

// Markdown formats the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# tessera bench\n\n")
	for _, line := range [][2]string{
		{"Adapter", r.Adapter + ", " + r.Type + ", " + r.Backend}, {"Driver", r.Driver}, {"Dawn", r.Dawn},
		{"Version", r.Version + ", " + r.System}, {"Command", "`" + r.Command + "`"}, {"Activations", r.Storage + ", sums f32"},
	} {
		fmt.Fprintf(&b, "%s: %s  \n", line[0], line[1])
	}
	fmt.Fprintf(&b, "\nRoofline: %s GFLOP/s of multiply-adds in f32, %s GB/s copied. Shares are parts of this roofline.\n", terminal.Figures(r.Roofline.GFLOPs), terminal.Figures(r.Roofline.GBs))
	if r.Busy != "" {
		fmt.Fprintf(&b, "**The machine was busy with other work, so the figures are unreliable**: %s.\n", r.Busy)
	}
	switch m := r.Roofline.Matrix; {
	case m != nil && m.Missing != "":
		fmt.Fprintf(&b, "Matrix units: products of %s failed: %s\n", m.Of, m.Missing)
	case m != nil:
		fmt.Fprintf(&b, "Matrix units: %s GFLOP/s in products of %s, halves with sums in f32; shares do not refer to them.\n", terminal.Figures(m.GFLOPs), m.Of)
	}
	if !r.Stamps {
		b.WriteString("The adapter has no timestamps: operations are timed from submission to completion.\n")
	}
	if r.Ops != nil {
		b.WriteString("\n## Operations\n\n")
		table(&b, "operation", r.Ops, func(o *Op) string { return o.Name + " " + o.Of + ", `" + o.Kernel + "`" })
		b.WriteString("\nMultiply-adds are counted for the plain convolution. Winograd kernels compute 2/3 of them for two frames at once (conv3d_winograd), and 1/2 for four frames or four pixels of a row (conv3d_winograd_rows).\n")
	}
	r.jobs(&b)
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.Layers != nil {
			fmt.Fprintf(&b, "\n## Layers of %s %s, the GPU busy %.0f %% of the time\n\n", j.Model, j.Op, 100*j.Busy)
			table(&b, "layer", j.Layers, func(o *Op) string { return o.Name })
		}
	}
	if r.Missing != "" {
		fmt.Fprintf(&b, "\n**The rest was not measured**: %s\n", r.Missing)
	}
	if r.Kernels != nil {
		b.WriteString("\n## Kernels verified and timed on this adapter\n\n")
		for _, line := range r.Kernels {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	return b.String()
}

// table prints operations.
func table(b *strings.Builder, head string, all []Op, name func(*Op) string) {
	fmt.Fprintf(b, "| %s | ms | GFLOP/s | GB/s | share |\n|---|---|---|---|---|\n", head)
	for i := range all {
		o := &all[i]
		if o.Missing != "" || o.Seconds == 0 {
			fmt.Fprintf(b, "| %s | %s | | | |\n", name(o), o.Missing)
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.0f %% |\n", name(o), terminal.Figures(1e3*o.Seconds), terminal.Figures(float64(o.FLOPs)/o.Seconds/1e9), terminal.Figures(float64(o.Bytes)/o.Seconds/1e9), 100*o.Share)
	}
}

// jobs prints whole decodes and encodes.
func (r *Report) jobs(b *strings.Builder) {
	if r.Jobs == nil {
		return
	}
	b.WriteString("\n## Models\n\n| | clip | s | frames/s | megapixels/s | GFLOP/s | share | first run, s | peak MiB |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Missing != "" {
			fmt.Fprintf(b, "| %s %s | %s | | | | | | | |\n", j.Model, j.Op, j.Missing)
			continue
		}
		frames := float64(j.Frames) / j.Seconds
		fmt.Fprintf(b, "| %s %s | %d × %d×%d | %s | %s | %s | %s | %.0f %% | %s | %.0f |\n", j.Model, j.Op, j.Frames, j.Width, j.Height, terminal.Figures(j.Seconds),
			terminal.Figures(frames), terminal.Figures(frames*float64(j.Height*j.Width)/1e6), terminal.Figures(float64(j.FLOPs)/j.Seconds/1e9), 100*j.Share, terminal.Figures(j.First), float64(j.PeakBytes)/(1<<20))
	}
}
