package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// access decides who may talk to the engine: a page that this server gave out,
// opened by someone who was shown the token.
type access struct {
	token string
	addr  net.Addr // listened on
}

// newToken is 256 bits, as URLs and headers can hold them.
func newToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// socket is the HTTP status that refuses a websocket, and why; 0 to let it in.
// Its token is in the query, since a page's script can't set a header.
func (a access) socket(r *http.Request) (int, string) {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if !a.host(r.Host) || err != nil || origin.Scheme != "http" || origin.Host != r.Host {
		return http.StatusForbidden, "only the page of this server may use its engine"
	}
	if a.known(r.URL.Query().Get("token")) {
		return 0, ""
	}
	return a.unknown()
}

// request is the same for what the page fetches.
func (a access) request(r *http.Request) (int, string) {
	if !a.host(r.Host) || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return http.StatusForbidden, "only the page of this server may ask"
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && a.known(token) {
		return 0, ""
	}
	return a.unknown()
}

func (a access) unknown() (int, string) {
	return http.StatusUnauthorized, "the token is missing or of an earlier start: use the address that tessera serve printed"
}

func (a access) known(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(a.token)) == 1
}

// host says whether a Host header names this server by an address. A name other
// than localhost could be anyone's that was pointed here (DNS rebinding).
func (a access) host(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
	}
	_, own, err := net.SplitHostPort(a.addr.String())
	return err == nil && port == own && (name == "localhost" || net.ParseIP(name) != nil)
}
