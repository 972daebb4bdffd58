//go:build !js

package gpu

type refusal func(bytes int64) error

// Refuse has f asked before a buffer of so many bytes is made and, with none,
// before a batch is submitted: an error of f is that call's. nil ends that. It
// makes a device of less memory, as one that others use has.
func (d *Device) Refuse(f func(bytes int64) error) { d.refuse = f }

func (d *Device) refused(bytes int64) error {
	if d.refuse == nil {
		return nil
	}
	return d.refuse(bytes)
}
