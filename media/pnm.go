//go:build !js

package media

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// pnmHeader is the header of a PPM or PAM picture.
type pnmHeader struct {
	height, width int
	channels      int
	length        int // bytes of the header
}

// readPNMHeader reads ffmpeg's forms, without comments: PPM for 3 channels, PAM for 4.
func readPNMHeader(r io.Reader, channels int) (h pnmHeader, err error) {
	form, rows := "P6\n%d %d\n255\n", 3
	if channels == 4 {
		form, rows = "P7\nWIDTH %d\nHEIGHT %d\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n", 7
	}
	h.channels = channels
	var text strings.Builder
	lines := bufio.NewReaderSize(r, 128)
	for range rows {
		line, err := lines.ReadString('\n')
		if err != nil {
			return h, fmt.Errorf("picture header: %w", err)
		}
		text.WriteString(line)
	}
	h.length = text.Len()
	if _, err = fmt.Sscanf(text.String(), form, &h.width, &h.height); err != nil {
		return h, fmt.Errorf("picture header %.100q: %w", text.String(), err)
	}
	return h, checkSize(h.height, h.width)
}
