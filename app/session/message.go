package session

import (
	"context"
	"time"

	"tessera/gpu"
	"tessera/vae"
)

// request is a message of the page; Type decides which fields it has.
type request struct {
	Type      string  `json:"type"`
	ID        int     `json:"id"`
	Version   int     `json:"version"`
	Source    source  `json:"source"`
	Preview   source  `json:"preview"` // checkpoint for a decode's preview; empty for none
	Precision string  `json:"precision"`
	Force     bool    `json:"force"`
	Options   options `json:"options"`
	Clip      clip    `json:"clip"`
	Read      int     `json:"read"`
	Error     string  `json:"error"`

	ctx    context.Context // cancelled by the message cancel
	stop   context.CancelFunc
	credit chan struct{} // pictures that the page has not acknowledged
	seq    int           // number of the last picture

	// Guarded by the session's mu.
	holding bool      // others may wait for what the request holds
	asked   time.Time // when the engine began to wait for the page; zero if it does not
}

// source is a file: one of the page's by number, or one of the host's by path.
type source struct {
	_ gpu.Incomparable

	ID   int    `json:"id"`
	Name string `json:"name"`
	Size int64  `json:"size"`
	Path string `json:"path"`
}

// clip is a video that the page has.
type clip struct {
	_ gpu.Incomparable

	Frames int     `json:"frames"`
	Height int     `json:"height"`
	Width  int     `json:"width"`
	FPS    float64 `json:"fps"`
}

// options are the options of a job or plan.
type options struct {
	_ gpu.Incomparable

	Direction string `json:"direction"`
	Frames    int    `json:"frames"`
	Height    int    `json:"height"`
	Width     int    `json:"width"`

	Tile        string `json:"tile"`
	Overlap     string `json:"overlap"`
	Tiling      string `json:"tiling"`
	As          string `json:"as"`
	Shrink      *bool  `json:"shrink"`
	Independent *bool  `json:"independent"`
	Budget      int64  `json:"memory"`
	Least       bool   `json:"least"`
	Chunk       int    `json:"chunk"`
	Preview     *bool  `json:"preview"`
	Scale       string `json:"scale"`
	Packed      string `json:"packed"`
	Layout      string `json:"layout"`
	Sample      bool   `json:"sample"`
	Seed        uint64 `json:"seed"`
	Format      string `json:"format"`
}

// event is the start of every message to the page.
type event struct {
	_    gpu.Incomparable
	Type string `json:"type"`
	ID   int    `json:"id"` // of the request
}

func about(kind string, id int) event { return event{Type: kind, ID: id} }

// Messages to the page.
type (
	result struct {
		event
		Value any `json:"value"`
	}
	failure struct {
		event
		Code    string `json:"code"`
		Message string `json:"message"`
		Detail  string `json:"detail"` // the source, such as names of tensors
	}
	queuedEvent struct {
		event
		Position int `json:"position"`
	}
	loadingEvent struct {
		event
		Loaded int64 `json:"loaded"`
		Total  int64 `json:"total"`
	}
	compilingEvent struct {
		event
		Done  int `json:"done"` // shaders
		Total int `json:"total"`
	}
	warningEvent struct {
		event
		Message string `json:"message"`
	}
	planEvent struct {
		event
		Stage  string `json:"stage"`
		Plan   *plan  `json:"plan"`
		Output clip   `json:"output"`
	}
	tileEvent struct {
		event
		Seq    int `json:"seq"`
		Tile   int `json:"tile"`
		Frame  int `json:"frame"`
		Y      int `json:"y"`
		X      int `json:"x"`
		Height int `json:"height"`
		Width  int `json:"width"`
	}
	frameEvent struct { // of the result, and of a preview
		event
		Seq    int `json:"seq"`
		Index  int `json:"index"`
		Height int `json:"height"`
		Width  int `json:"width"`
	}
	progressEvent struct {
		event
		Stage string `json:"stage"`
		vae.Progress
		Seconds float64 `json:"seconds"`
	}
	latentEvent struct {
		event
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	}
	qualityEvent struct {
		event
		Index *int     `json:"index"` // null for the whole clip
		PSNR  *float64 `json:"psnr"`  // dB, null for infinity
		SSIM  float64  `json:"ssim"`
	}
	readRequest struct {
		event
		Read   int   `json:"read"`
		Source int   `json:"source"`
		Offset int64 `json:"offset"`
		Length int   `json:"length"`
	}
	pixelsRequest struct {
		event
		Read  int `json:"read"`
		Frame int `json:"frame"`
	}
)
