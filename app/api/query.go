package api

import (
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// query reads a request's query parameters. end refuses unknown parameters and reports
// the first invalid value. It accepts Python's True, False and None.
type query struct {
	values url.Values
	asked  map[string]bool // names that were read
	err    error
}

func newQuery(text string) *query {
	q := &query{asked: map[string]bool{}}
	if q.values, q.err = url.ParseQuery(text); q.err != nil {
		q.err = bad("the query cannot be parsed: %w", q.err)
	}
	return q
}

// refuse keeps the first error.
func (q *query) refuse(err error) {
	if q.err == nil {
		q.err = err
	}
}

// end refuses parameters that no reader asked for.
func (q *query) end() error {
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !q.asked[name] {
			q.refuse(bad("unknown parameter %.40q, expected %s", name, strings.Join(slices.Sorted(maps.Keys(q.asked)), ", ")))
		}
	}
	return q.err
}

// text reads a text; missing is "".
func (q *query) text(name string) string {
	q.asked[name] = true
	all := q.values[name]
	if len(all) > 1 {
		q.refuse(bad("%s is given %d times, expected once", name, len(all)))
	}
	if len(all) == 0 || all[0] == "None" {
		return ""
	}
	return all[0]
}

// one reads one of the listed values; missing is the first.
func (q *query) one(name string, of ...string) string {
	v := q.text(name)
	if v == "" {
		return of[0]
	}
	if !slices.Contains(of, v) {
		q.refuse(bad("%s is %.40q, expected %s", name, v, strings.Trim(strings.Join(of, ", "), ", ")))
		return of[0]
	}
	return v
}

// yes reads a boolean; missing is nil.
func (q *query) yes(name string) *bool {
	v := q.text(name)
	if v == "" {
		return nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		q.refuse(bad("%s is %.40q, expected true or false", name, v))
	}
	return &b
}

// is reads a boolean; missing is false.
func (q *query) is(name string) bool {
	v := q.yes(name)
	return v != nil && *v
}

// float reads a finite number; missing is nil.
func (q *query) float(name string) *float64 {
	v := q.text(name)
	if v == "" {
		return nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		q.refuse(bad("%s is %.40q, expected a number", name, v))
	}
	return &f
}

// whole reads a number from 1 to most; missing is 0.
func (q *query) whole(name string, most int) int {
	v := q.text(name)
	if v == "" {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		q.refuse(bad("%s is %.40q, expected 1 to %d", name, v, most))
		return 0
	}
	return n
}

// maxRank limits the dimensions of a tensor.
const maxRank = 5

// shape reads a list of numbers from 1; missing is nil. The name may be repeated, as
// Python's requests sends a list, or have one value, as JSON or separated by commas.
func (q *query) shape(name string) []int {
	q.asked[name] = true
	all := q.values[name]
	if len(all) == 1 {
		var list []int
		if err := json.Unmarshal([]byte(all[0]), &list); strings.HasPrefix(all[0], "[") && err == nil {
			return q.sides(name, list)
		}
		all = strings.Split(all[0], ",")
	}
	var list []int
	for _, v := range all {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			q.refuse(bad("%s contains %.40q, expected whole numbers", name, v))
			return nil
		}
		list = append(list, n)
	}
	return q.sides(name, list)
}

func (q *query) sides(name string, list []int) []int {
	if len(list) > maxRank {
		q.refuse(bad("%s has %d numbers, expected at most %d", name, len(list), maxRank))
		return nil
	}
	for _, n := range list {
		if n < 1 || n > maxSide {
			q.refuse(bad("%s contains %d, expected 1 to %d", name, n, maxSide))
			return nil
		}
	}
	return list
}

// choices reads the other options of a job, by the command line's names.
func (q *query) choices(o Options) job.Choices {
	c := job.Choices{Budget: o.Budget, Host: o.Host}
	for _, word := range job.Words() {
		var v string
		if word.Of == nil {
			v = q.text(word.Name)
		} else {
			v = q.one(word.Name, append([]string{""}, word.Of...)...)
		}
		if v == "" {
			continue
		}
		if err := word.Set(&c, v); err != nil {
			q.refuse(err)
		}
	}
	if v := q.text("fps"); v != "" {
		fps, err := latent.ParseRational(v)
		if err != nil {
			q.refuse(bad("fps: %w", err))
		}
		c.FPS = fps
	}
	c.Independent = q.yes("independent_frames")
	return c
}

// reading reads how a latent is laid out in its file.
func (q *query) reading(c *job.Choices) {
	c.Key = q.text("latent_key")
	if v := q.text("layout"); v != "" {
		layout, err := media.ParseLayout(v)
		if err != nil {
			q.refuse(bad("layout is %w", err))
		}
		c.Layout = layout
	}
	c.Packed = tiling.Size{H: q.whole("height", maxPixel), W: q.whole("width", maxPixel)}
	if (c.Packed.H == 0) != (c.Packed.W == 0) {
		q.refuse(bad("height and width of packed latents: expected both or neither"))
	}
}

// draw reads how a latent is drawn from its distribution.
func (q *query) draw(c *job.Choices) {
	c.Sample, c.Moments = q.is("sample"), q.is("moments")
	if c.Sample && c.Moments {
		q.refuse(bad("sample and moments, expected one of the two"))
	}
	v := q.text("seed")
	if v == "" {
		return
	}
	seed, err := strconv.ParseUint(v, 10, 64)
	switch {
	case err != nil:
		q.refuse(bad("seed is %.40q, expected a whole number from 0", v))
	case !c.Sample:
		q.refuse(bad("seed without sample, expected sample=true: the mean needs no seed"))
	}
	c.Seed = seed
}

// scale reads the scale of a latent's numbers in diffusers' terms. do_scaling means a
// pipeline's scale, and so do factors equal to the model's; without either, the numbers
// are the VAE's own. Factors identify the model where it is assumed.
func (q *query) scale(want *job.Choices, c vae.Config) {
	do, factor, shift := q.is("do_scaling"), q.float("scaling_factor"), q.float("shift_factor")
	if want.Scale = latent.ScalePipeline; factor == nil && shift == nil {
		if !do {
			want.Scale = latent.ScaleNone
		}
		return
	}
	s, m := 1.0, 0.0
	if factor != nil {
		s = *factor
	}
	if shift != nil {
		m = *shift
	}
	told, err := c.As(want.As)
	if err != nil {
		q.refuse(err)
		return
	}
	for _, kind := range vae.Kinds() {
		if other, err := c.As(kind); err == nil && told.Assumed && sameScale(other, s, m) == nil {
			told, want.As = other, kind
		}
	}
	if err := sameScale(told, s, m); err != nil {
		q.refuse(err)
	}
}

// sameScale refuses factors that are not the model's.
func sameScale(c vae.Config, factor, shift float64) error {
	const close = 1e-4
	near := func(a, b float64) bool { return math.Abs(a-b) <= close*math.Max(1, math.Abs(b)) }
	scale, mean := c.Scale, c.Mean
	if scale == nil {
		scale, mean = []float64{1}, []float64{0}
	}
	alike := true
	for i := range scale {
		alike = alike && near(scale[i], scale[0]) && near(mean[i], mean[0])
	}
	const instead = "do_scaling=True without factors means a pipeline's latents, do_scaling=False the VAE's own numbers"
	switch {
	case !alike:
		return bad("scaling_factor %g and shift_factor %g: %s scales each of its %d channels by its own mean and deviation, which two numbers cannot express: %s",
			factor, shift, c.Model, len(scale), instead)
	case !near(factor, scale[0]) || !near(shift, mean[0]):
		return bad("scaling_factor %g and shift_factor %g are not those of %s, expected %g and %g; %s", factor, shift, c.Model, scale[0], mean[0], instead)
	}
	return nil
}
