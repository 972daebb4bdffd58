package serve

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
)

const (
	maxListed = 500 // files listed
	maxDepth  = 4   // depth of folders
)

// listed is a file that a page may open by path.
type listed struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// folder answers with the checkpoints and latents that pages may open.
func (s *Server) folder(w http.ResponseWriter, r *http.Request) {
	if status, why := s.access.request(r); status != 0 {
		http.Error(w, why, status)
		return
	}
	s.o.Arrived()
	files := []listed{}
	if s.engine.root != nil {
		files = list(s.engine.root.FS())
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(files)
}

// list walks a folder and skips what it cannot read.
func list(root fs.FS) []listed {
	files := []listed{}
	fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case len(files) == maxListed:
			return fs.SkipAll
		case e.IsDir():
			if strings.Count(name, "/") >= maxDepth || name != "." && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && useful(name) {
			files = append(files, listed{name, info.Size()})
		}
		return nil
	})
	return files
}

func useful(name string) bool {
	return slices.Contains([]string{".safetensors", ".pt", ".pth", ".latent", ".npy", ".npz"}, strings.ToLower(path.Ext(name)))
}
