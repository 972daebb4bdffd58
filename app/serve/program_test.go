package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked returns the status and text of a request with headers.
func asked(t *testing.T, c *http.Client, url string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	require.NoError(t, err)
	for name, value := range header {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer, err := c.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// Programs on this machine need no token, but pages of other sites are refused, and so
// are foreign names that point here.
func TestPrograms(t *testing.T) {
	s := start(t, Options{})
	own := "http://" + s.listen.Addr().String()
	for name, c := range map[string]struct {
		header map[string]string
		status int
	}{
		"a program":               {nil, 200},
		"the page":                {map[string]string{"Origin": own, "Sec-Fetch-Site": "same-origin"}, 200},
		"the address bar":         {map[string]string{"Sec-Fetch-Site": "none"}, 200},
		"another site":            {map[string]string{"Origin": "https://example.com"}, 403},
		"a sandboxed frame":       {map[string]string{"Origin": "null"}, 403},
		"an image's":              {map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"a name that points here": {map[string]string{"Host": "evil.example:" + strings.Split(s.listen.Addr().String(), ":")[1]}, 403},
		"another port":            {map[string]string{"Host": "127.0.0.1:1"}, 403},
	} {
		for _, path := range []string{"/v1/models", "/healthz", "/openapi.json", "/metrics"} {
			status, text := asked(t, http.DefaultClient, own+path, c.header)
			assert.Equal(t, c.status, status, "%s, %s: %s", name, path, text)
		}
	}
	assert.Empty(t, s.Token())
}

// With tokens, programs need one, as a bearer token or as the password in the address;
// /healthz and /openapi.json need none.
func TestProgramTokens(t *testing.T) {
	const token = "0123456789abcdef"
	s := start(t, Options{Tokens: map[string]string{token: "studio", token + "2": "batch"}})
	own := "http://" + s.listen.Addr().String()
	for name, c := range map[string]struct {
		url    string
		header map[string]string
		status int
	}{
		"none":               {own, nil, 401},
		"another":            {own, map[string]string{"Authorization": "Bearer " + token[1:]}, 401},
		"empty":              {own, map[string]string{"Authorization": "Bearer "}, 401},
		"the page's":         {own, map[string]string{"Authorization": "Bearer " + s.access.token}, 401},
		"a token":            {own, map[string]string{"Authorization": "Bearer " + token}, 200},
		"in the address":     {strings.Replace(own, "//", "//x:"+token+"2@", 1), nil, 200},
		"of another site":    {own, map[string]string{"Authorization": "Bearer " + token, "Origin": "https://example.com"}, 403},
		"through a name":     {own, map[string]string{"Authorization": "Bearer " + token, "Host": "gpu.lan"}, 200},
		"in the query alone": {own, map[string]string{"X-Token": token}, 401},
	} {
		status, text := asked(t, http.DefaultClient, c.url+"/v1/models?token="+token, c.header)
		assert.Equal(t, c.status, status, "%s: %s", name, text)
		status, _ = asked(t, http.DefaultClient, c.url+"/metrics", c.header)
		assert.Equal(t, c.status, status, name)
	}
	for _, path := range []string{"/healthz", "/openapi.json"} {
		status, _ := asked(t, http.DefaultClient, own+path, nil)
		assert.Equal(t, 200, status, path)
	}
}

// certificate returns a certificate for 127.0.0.1, and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// With a certificate, programs and the page use https and wss only.
func TestTLS(t *testing.T) {
	pair, pool := certificate(t)
	s := start(t, Options{Certificates: []tls.Certificate{pair}})
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer c.CloseIdleConnections()
	addr := s.listen.Addr().String()
	assert.True(t, strings.HasPrefix(s.URL(), "https://"+addr+"/#token="))
	status, text := asked(t, c, "https://"+addr+"/v1/models", nil)
	assert.Equal(t, 200, status, text)
	r, err := c.Get("https://" + addr + "/")
	require.NoError(t, err)
	r.Body.Close()
	assert.Contains(t, r.Header.Get("Content-Security-Policy"), " wss://"+addr+";")
	o := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://" + addr}}, HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}}
	ws, _, err := websocket.Dial(t.Context(), "wss://"+addr+"/engine?token="+s.access.token, o)
	require.NoError(t, err)
	ws.CloseNow()
	o.HTTPHeader.Set("Origin", "http://"+addr)
	_, answer, err := websocket.Dial(t.Context(), "wss://"+addr+"/engine?token="+s.access.token, o)
	require.Error(t, err)
	assert.Equal(t, http.StatusForbidden, answer.StatusCode)
	status, _ = asked(t, http.DefaultClient, "http://"+addr+"/healthz", nil)
	assert.Equal(t, http.StatusBadRequest, status, "plain http")
}
