package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"tessera/engine"
	"tessera/gpu"
	"tessera/vae"
)

// model is a model that is served. The client with the turn uses its weights on the
// device.
type model struct {
	name     string
	path     string
	settings vae.Settings
	config   vae.Config

	open    *vae.Model  // on dev; nil before its first use
	dev     *gpu.Device // the device of open
	weights int64       // its bytes on the device
	used    time.Time
}

// models are all models that are served.
type models struct {
	all    []*model
	budget int64 // on the device; 0 is the engine's default

	mu     sync.Mutex
	loaded int // number of models with weights on the device
}

// newModels reads the checkpoints' headers.
func newModels(list []Model, budget int64) (*models, error) {
	s := &models{budget: budget}
	for _, m := range list {
		if _, err := s.find(m.Name); err == nil {
			return nil, fmt.Errorf("api: two models are called %q, expected different names", m.Name)
		}
		config, err := configOf(m)
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, &model{name: m.Name, path: m.Path, settings: m.Settings, config: config})
	}
	return s, nil
}

// configOf reads a checkpoint's header, without a device.
func configOf(m Model) (vae.Config, error) {
	opened, err := vae.Inspect(m.Path, gpu.Info{Limits: gpu.DefaultLimits}, vae.Settings{Precision: m.Settings.Precision, As: m.Settings.As, Force: m.Settings.Force})
	if err != nil {
		return vae.Config{}, err
	}
	config := opened.Config
	if err := opened.Close(); err != nil {
		return config, err
	}
	return config, config.IdentifyFile(m.Path)
}

// find returns the model of a name; "" finds the only one.
func (s *models) find(name string) (*model, error) {
	for _, m := range s.all {
		if m.name == name || name == "" && len(s.all) == 1 {
			return m, nil
		}
	}
	if name == "" && len(s.all) > 1 {
		var names []string
		for _, m := range s.all {
			names = append(names, m.name)
		}
		return nil, bad("the request names no model, expected model=NAME with one of %s", strings.Join(names, ", "))
	}
	text := fmt.Sprintf("model %.60q not found; /v1/models lists the models", name)
	if len(s.all) == 0 {
		text = "no model is served: tessera serve --model FILE"
	}
	return nil, &problem{status: http.StatusNotFound, code: "no_model", err: errors.New(text)}
}

// on opens the model on a device, during a turn.
func (s *models) on(dev *gpu.Device, m *model) (*vae.Model, error) {
	m.used = time.Now()
	if m.open != nil && m.dev == dev {
		return m.open, nil
	}
	opened, err := vae.Open(dev, m.path, m.settings)
	if err != nil {
		return nil, err
	}
	m.open, m.dev, m.weights = opened, dev, 0
	return opened, nil
}

// room unloads the least recently used models until the device has the memory for a plan
// of m, during a turn.
func (s *models) room(dev *gpu.Device, m *model, p *vae.Plan) {
	budget := s.budget
	if budget == 0 {
		budget = engine.Budget(dev.Info())
	}
	for dev.Stats().Bytes+p.Bytes()-min(m.weights, p.Weights) > budget {
		var idlest *model
		for _, o := range s.all {
			if o != m && o.dev == dev && o.weights > 0 && (idlest == nil || o.used.Before(idlest.used)) {
				idlest = o
			}
		}
		if idlest == nil {
			break
		}
		idlest.unload()
	}
	m.weights = max(m.weights, p.Weights)
	s.count(dev)
}

func (m *model) unload() {
	m.open.Unload()
	m.weights = 0
}

// putAway unloads all models from the device, during a turn.
func (s *models) putAway(dev *gpu.Device) {
	for _, m := range s.all {
		if m.dev == dev && m.weights > 0 {
			m.unload()
		}
	}
	s.count(dev)
}

// forget closes the models on a device that is about to be closed, during a turn.
func (s *models) forget(dev *gpu.Device) error {
	var err error
	for _, m := range s.all {
		if m.open != nil && m.dev == dev {
			err = errors.Join(err, m.open.Close())
			m.open, m.dev, m.weights = nil, nil, 0
		}
	}
	s.count(dev)
	return err
}

// count updates loaded.
func (s *models) count(dev *gpu.Device) {
	n := 0
	for _, m := range s.all {
		if m.dev == dev && m.weights > 0 {
			n++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = n
}

// Loaded returns how many models have weights on the device.
func (a *API) Loaded() int {
	a.models.mu.Lock()
	defer a.models.mu.Unlock()
	return a.models.loaded
}
