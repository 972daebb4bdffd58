package gpu

// Uses returns the bind groups that a device keeps, and how often its buffers' memory
// refers to one.
func Uses(d *Device) (groups, uses int) {
	for _, m := range d.buffers {
		uses += len(m.groups)
	}
	return len(d.groups), uses
}

// Programs returns the number of programs that a device remembers.
func Programs(d *Device) int { return len(d.programs) }

const MaxPrograms = maxPrograms
