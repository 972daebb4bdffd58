package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// preferences enable WebGPU in builds that disable it, also for software drivers.
const preferences = `user_pref("dom.webgpu.enabled", true);
user_pref("gfx.webgpu.ignore-blocklist", true);
user_pref("browser.download.folderList", 2);
user_pref("browser.download.useDownloadDir", true);
user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
`

// firefox is a page in a separate Firefox, controlled through WebDriver BiDi.
type firefox struct {
	conn *websocket.Conn
	tab  string
	id   int
}

// newFirefox starts one that saves into downloads; without one the test is skipped.
// $FIREFOX may name it.
func newFirefox(t *testing.T, downloads string) *firefox {
	t.Helper()
	name := os.Getenv("FIREFOX")
	for _, each := range []string{"firefox", "firefox-esr"} {
		if path, err := exec.LookPath(each); name == "" && err == nil {
			name = path
		}
	}
	if name == "" {
		t.Skip("no Firefox on the path; $FIREFOX may name it")
	}
	profile := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(preferences+fmt.Sprintf("user_pref(%q, %q);\n", "browser.download.dir", downloads)), 0o666))
	cmd := exec.Command(name, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "MOZ_CRASHREPORTER_DISABLE=1", "MOZ_DISABLE_AUTO_SAFE_MODE=1", "HOME="+profile)
	says, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	gone := make(chan struct{}) // closed when its last process has ended
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		select {
		case <-gone:
		case <-time.After(30 * time.Second):
			t.Error("Firefox has not ended")
		}
		_ = cmd.Wait()
	})
	address := make(chan string, 1)
	go func() {
		defer close(gone)
		listens := regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)
		for lines := bufio.NewScanner(says); lines.Scan(); {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	f := &firefox{}
	select {
	case url := <-address:
		f.conn, _, err = websocket.Dial(t.Context(), url+"/session", nil)
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "Firefox did not listen within a minute")
	}
	f.conn.SetReadLimit(64 << 20)
	session := f.call(t, "session.new", map[string]any{"capabilities": map[string]any{}})
	t.Logf("%v %v", at(session, "capabilities", "browserName"), at(session, "capabilities", "browserVersion"))
	f.tab = at(f.call(t, "browsingContext.getTree", map[string]any{}), "contexts", 0, "context").(string)
	return f
}

// at follows keys and indices in decoded JSON.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

// call sends a command and waits for its answer.
func (f *firefox) call(t testing.TB, method string, params any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	f.id++
	require.NoError(t, wsjson.Write(ctx, f.conn, map[string]any{"id": f.id, "method": method, "params": params}))
	for {
		var answer map[string]any
		require.NoError(t, wsjson.Read(ctx, f.conn, &answer), method)
		if answer["id"] == float64(f.id) {
			require.Nil(t, answer["error"], "%s: %v", method, answer["message"])
			return answer["result"]
		}
	}
}

// evalIn is eval in Firefox.
func evalIn[T any](t testing.TB, f *firefox, expression string) T {
	t.Helper()
	result := f.call(t, "script.evaluate", map[string]any{
		"expression": "(async () => JSON.stringify(await (" + expression + ")))()",
		"target":     map[string]any{"context": f.tab}, "awaitPromise": true,
	})
	require.Equal(t, "success", at(result, "type"), "%s: %v", expression, at(result, "exceptionDetails", "text"))
	var v T
	if text, ok := at(result, "result", "value").(string); ok {
		require.NoError(t, json.Unmarshal([]byte(text), &v), expression)
	}
	return v
}

// open goes to an address.
func (f *firefox) open(t testing.TB, url string) {
	t.Helper()
	f.call(t, "browsingContext.navigate", map[string]any{"context": f.tab, "url": url, "wait": "complete"})
}

// pick puts files into a file input.
func (f *firefox) pick(t testing.TB, id string, files []string) {
	t.Helper()
	element := at(f.call(t, "browsingContext.locateNodes", map[string]any{
		"context": f.tab, "locator": map[string]any{"type": "css", "value": "#" + id},
	}), "nodes", 0)
	f.call(t, "input.setFiles", map[string]any{
		"context": f.tab, "element": map[string]any{"sharedId": at(element, "sharedId")}, "files": files,
	})
}

// press presses a key, given as WebDriver's character for it.
func (f *firefox) press(t testing.TB, key string) {
	t.Helper()
	f.call(t, "input.performActions", map[string]any{"context": f.tab, "actions": []any{map[string]any{
		"type": "key", "id": "keys", "actions": []any{
			map[string]any{"type": "keyDown", "value": key}, map[string]any{"type": "keyUp", "value": key},
		},
	}}})
}

// inFirefox is the key of a context whose page is in a *firefox.
type inFirefox struct{}

// TestVisitorInFirefox runs the whole visit in a browser with another WebGPU engine.
func TestVisitorInFirefox(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	downloads := t.TempDir()
	f := newFirefox(t, downloads)
	v := &visit{t: t, tab: context.WithValue(t.Context(), inFirefox{}, f), firefox: f, url: servePage(t, ""), downloads: downloads}
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	v.steps()
}
