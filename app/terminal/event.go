package terminal

import "encoding/json"

// Event is a line of --progress=json; docs/reference/events.md explains the keys.
type Event struct {
	Event    string   `json:"event"`
	Clip     string   `json:"clip,omitempty"` // in a batch
	Stage    string   `json:"stage,omitempty"`
	Done     *float64 `json:"done,omitempty"`
	Middle   bool     `json:"middle_layers,omitempty"`
	Tile     int      `json:"tile,omitempty"`
	Tiles    int      `json:"tiles,omitempty"`
	Frame    *int     `json:"frame,omitempty"`
	Frames   int      `json:"frames,omitempty"`
	Seconds  *float64 `json:"seconds,omitempty"`
	Expected *float64 `json:"expected_seconds,omitempty"`
	Left     *float64 `json:"seconds_left,omitempty"`
	Rate     float64  `json:"frames_per_second,omitempty"`
	Shader   int      `json:"shader,omitempty"`
	Shaders  int      `json:"shaders,omitempty"`
	Text     string   `json:"text,omitempty"`
	Result   any      `json:"result,omitempty"`
	Error    string   `json:"error,omitempty"`
	Code     int      `json:"exit_code,omitempty"`
}

// Event prints an event.
func (t *Terminal) Event(e Event) {
	e.Clip = t.Clip
	_ = json.NewEncoder(t.Stderr).Encode(e) // as for everything on standard error
}
