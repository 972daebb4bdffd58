package main

import (
	"context"
	"fmt"

	"tessera/vae"
)

// network is our side of a whole decoder, with one tile.
type network struct {
	model *vae.Model
	plan  *vae.DecodePlan
	z     vae.Latent
	y     vae.Frame
}

// networkSettings are the settings of the model.
var networkSettings = vae.Settings{Precision: vae.F32}

// newNetwork plans the decode of a case. It takes over the model, even if it fails.
func newNetwork(model *vae.Model, c Case) (*network, error) {
	n := &network{model: model, z: vae.Latent{Channels: c.In, Frames: c.T, Height: c.H / cell, Width: c.W / cell, Data: c.numbers().x}}
	var err error
	if n.plan, err = model.PlanDecode(context.Background(), n.z.Frames, n.z.Height, n.z.Width, vae.DecodeOptions{Options: vae.Options{Unscaled: true}}); err != nil {
		n.close()
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	return n, nil
}

// once uploads the latent, runs, and reads the picture back.
func (n *network) once() error {
	n.y = vae.Frame{}
	for frame, err := range n.plan.Run(context.Background(), n.z, vae.Watch{}) {
		if err != nil {
			return err
		}
		n.y = frame
	}
	return nil
}

// lay returns the picture in the peers' order: [C, H, W].
func (n *network) lay() []float32 {
	c, pixels := n.model.Config.Channels, n.y.Height*n.y.Width
	y := make([]float32, c*pixels)
	for i, v := range n.y.Pixels {
		y[i%c*pixels+i/c] = v
	}
	return y
}

func (n *network) inPairs() bool { return false }

func (n *network) close() { n.model.Close() }
