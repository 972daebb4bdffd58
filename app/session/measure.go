package session

type speed struct {
	FLOPs float64 `json:"flops"` // per second
}

// measure measures the device's speed at the open checkpoint's precision.
func (s *Session) measure(r *request) (*speed, error) {
	c := s.checkpoint
	if c == nil {
		return nil, errNoModel
	}
	dev, err := s.host.Turn(r.ctx, func(int) {})
	if err != nil {
		return nil, err
	}
	v := &speed{}
	err = s.during(r, func() error {
		c.readFor(r)
		m, err := c.on(dev)
		if err == nil {
			v.FLOPs, err = m.Speed(r.ctx)
		}
		return err
	})
	return v, err
}
