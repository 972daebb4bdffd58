//go:build !js

package gpu

type faultInjector func(bytes int64) error

// InjectFaults calls f before a buffer is made, with its size, and before a batch is
// submitted, with 0; an error of f becomes that call's error. nil ends that. Tests simulate
// with it a device whose memory other programs use.
func (d *Device) InjectFaults(f func(bytes int64) error) { d.fault = f }

func (d *Device) injectedFault(bytes int64) error {
	if d.fault == nil {
		return nil
	}
	return d.fault(bytes)
}
