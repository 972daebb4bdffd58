package vae

import (
	"fmt"
	"strings"

	"tessera/format/known"
	"tessera/latent"
)

// twin is a model of a family in which several models have equal tensor names and shapes.
type twin interface {
	model() (as, name string)
	fits(c *Config) bool // has the names and shapes of c
	take(c *Config)      // sets the model's name and statistics
}

// twins converts models to the interface.
func twins[T twin](models []T) (all []twin) {
	for _, m := range models {
		all = append(all, m)
	}
	return all
}

// alike returns the family's models that share their tensors' names and shapes.
func (f *family) alike() []twin {
	if f.twins == nil {
		return nil
	}
	return f.twins()
}

// Kinds returns the names of all models that share their tensors' names and shapes with
// others, for Settings.As.
func Kinds() (names []string) {
	for _, f := range families {
		for _, m := range f.alike() {
			as, _ := m.model()
			names = append(names, as)
		}
	}
	return names
}

// alike returns the models with c's names and shapes, the most common first.
func (c *Config) alike() (all []twin) {
	for _, m := range c.family().alike() {
		if m.fits(c) {
			all = append(all, m)
		}
	}
	return all
}

// Kinds returns the names that As accepts, the most common first; nil if no other model
// has these names and shapes.
func (c Config) Kinds() []string {
	names := []string{}
	for _, m := range c.alike() {
		as, _ := m.model()
		names = append(names, as)
	}
	return names
}

// As returns the configuration with the model that kind names, one of Kinds; "" changes
// nothing. Its error is an ErrBadModel.
func (c Config) As(kind string) (Config, error) {
	if kind == "" {
		return c, nil
	}
	for _, m := range c.alike() {
		if as, _ := m.model(); as == kind {
			m.take(&c)
			c.Assumed, c.Beside = false, ""
			return c, nil
		}
	}
	if kinds := c.Kinds(); len(kinds) > 0 {
		return c, &badModel{fmt.Errorf("vae: %s cannot be opened as %.80q, expected %s", c.Model, kind, strings.Join(kinds, ", "))}
	}
	return c, &badModel{fmt.Errorf("vae: %s cannot be opened as %.80q: no other model has its tensors", c.Model, kind)}
}

// as is As for one job of a model whose networks exist.
func (m *Model) as(kind string) (Config, error) {
	c, err := m.Config.As(kind)
	if err == nil && c.Leaky != m.Config.Leaky {
		err = &badModel{fmt.Errorf("vae: %s has other activations than %s, expected the checkpoint to be opened as %s", c.Model, m.Config.Model, kind)}
	}
	return c, err
}

// Maker returns which of Kinds made a latent, if c's model is assumed and could be that;
// otherwise "".
func (c Config) Maker(by latent.Checkpoint) string {
	for _, m := range c.alike() {
		if as, name := m.model(); c.Assumed && c.is(by.Family) && by.Model == name {
			return as
		}
	}
	return ""
}

// Doubt says that the model is assumed and how to choose another; "" if it is known.
func (c Config) Doubt() string {
	if !c.Assumed {
		return ""
	}
	var others []string
	for _, m := range c.alike() {
		if _, name := m.model(); name != c.Model {
			others = append(others, name)
		}
	}
	have := "have"
	if len(others) == 1 {
		have = "has"
	}
	return fmt.Sprintf("the file does not say which model it is. Assuming %s; %s %s the same tensors and another latent scale.%s",
		c.Model, strings.Join(others, " and "), have, c.Hint())
}

// Hint is the end of Doubt: the flag that chooses a model, and its values.
func (c Config) Hint() string { return " Choose with --as: " + strings.Join(c.Kinds(), ", ") }

// scaledAs reports whether a latent was made by another model with these names and
// shapes, if each has a separate scale.
func (c *Config) scaledAs(made latent.Checkpoint) bool {
	return c.is(made.Family) && made.Model != c.Model && len(c.alike()) > 0
}

// publishedAs finds the family and the published configuration of a name; the family is
// nil for an unknown name.
func publishedAs(name string) (*family, Config) {
	if c, ok := known.Find(name); ok {
		name = c.Model
	}
	for _, f := range families {
		if c, ok := f.publishedAs(name); ok {
			return f, c
		}
	}
	return nil, Config{}
}

// publishedAs finds the published configuration of a family or model by its name.
func (f *family) publishedAs(name string) (Config, bool) {
	same := func(other string) bool { return spelling(name) == spelling(other) }
	all := []Config{*f.published}
	if f.sizes != nil {
		all = append(all, f.sizes()...)
	}
	for i, c := range all {
		f.complete(&c)
		if i == 0 && same(f.name) {
			return c, true
		}
		if f.name == wan21 && same("qwen-image") {
			qwenImage(&c)
			return c, true
		}
		for _, m := range c.alike() {
			if as, model := m.model(); same(as) || same(model) {
				m.take(&c)
				return c, true
			}
		}
		if same(c.Model) {
			return c, true
		}
	}
	return Config{}, false
}

// spelling removes from a name what people write differently.
func spelling(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name))
}
