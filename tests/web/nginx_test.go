package web

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
	page "tessera/web"
)

// nginx returns Debian's nginx, with Debian's table of media types.
func nginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testenv.Missing(t, "no nginx: tools/deps.sh --test installs it")
	return ""
}

// built returns the output folder of tools/web.sh, unchanged.
func built(t *testing.T) string {
	t.Helper()
	if _, err := page.Page(); err != nil && !testenv.Required() {
		t.Skip(err)
	}
	dir, err := filepath.Abs(root + "/web/dist")
	require.NoError(t, err)
	return dir
}

// newSite serves web/dist with nginx in Debian's configuration, below a path of a site,
// and opens an empty tab.
func newSite(t *testing.T) *visit {
	t.Helper()
	url, _ := hosted(t, built(t), "")
	return newVisitAt(t, url+"#")
}

// hosted serves a folder with nginx and returns its address and its log, which has the
// path and the bytes sent for each request. more is added to the server's
// configuration.
func hosted(t *testing.T, folder, more string) (url, log string) {
	t.Helper()
	url, log, _ = host(t, folder, more)
	return url, log
}

// host is hosted, with a function to stop it.
func host(t *testing.T, folder, more string) (url, log string, stop func()) {
	t.Helper()
	program, dir := nginx(t), t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
	include /etc/nginx/mime.types; default_type application/octet-stream;
	sendfile on; tcp_nopush on; gzip on;
	log_format short "$request_uri $bytes_sent"; access_log %[1]s/log short;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	server { listen %[2]s; location /try/tessera/ { alias %[3]s/; %[4]s } }
}
`, dir, addr, folder, more)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o666))
	cmd := exec.Command(program, "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
	said := &strings.Builder{}
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	stop = sync.OnceFunc(func() {
		assert.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
	})
	t.Cleanup(stop)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond, "nginx does not answer: %s", said)
	return "http://" + addr + "/try/tessera/", filepath.Join(dir, "log"), stop
}

// TestNoHiddenFiles: the built folder has no file that a host should not show, or that
// it serves with a media type that browsers refuse.
func TestNoHiddenFiles(t *testing.T) {
	err := fs.WalkDir(os.DirFS(built(t)), ".", func(name string, e fs.DirEntry, err error) error {
		assert.False(t, name != "." && strings.HasPrefix(e.Name(), "."), "%s is hidden", name)
		assert.NotEqual(t, ".mjs", filepath.Ext(name), "%s: nginx serves it as octet-stream", name)
		return err
	})
	require.NoError(t, err)
}
