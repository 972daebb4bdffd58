package api

import (
	_ "embed" // the document
	"net/http"
	"strconv"
)

// openAPI is the document at /openapi.json. A test compares it with the handlers.
//
//go:embed openapi.json
var openAPI []byte

// tellOpenAPI answers GET /openapi.json.
func (a *API) tellOpenAPI(w http.ResponseWriter, _ *http.Request, _ string) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(openAPI)))
	_, _ = w.Write(openAPI) // the client may have gone
	return nil
}
