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

// access decides who may use the engine: a page that this server sent, opened by someone
// with the token, and programs.
type access struct {
	token  string            // of the page
	tokens map[string]string // of programs, with each one's name
	asks   bool              // programs need a token: other machines can reach the server
	secure bool              // the connection is encrypted and the server's name proved
	addr   net.Addr          // listening address
}

// newToken returns 256 random bits in a form for URLs and headers.
func newToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// socket returns the HTTP status that refuses a websocket, and the reason; 0 admits it.
// The token is in the query, because a page's script cannot set a header.
func (a access) socket(r *http.Request) (int, string) {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if !a.host(r.Host) || err != nil || origin.Scheme != a.scheme() || origin.Host != r.Host {
		return http.StatusForbidden, "only the page of this server may use its engine"
	}
	if a.known(r.URL.Query().Get("token")) {
		return 0, ""
	}
	return a.unknown()
}

// request checks the page's fetches as socket checks its websocket.
func (a access) request(r *http.Request) (int, string) {
	if !a.host(r.Host) || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return http.StatusForbidden, "only the page of this server may send requests"
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && a.known(token) {
		return 0, ""
	}
	return a.unknown()
}

// program identifies the client that sent a request, or refuses it as socket does. It
// refuses pages of other sites, even where no token is needed. open endpoints need no
// token.
func (a access) program(r *http.Request, open bool) (client string, status int, why string) {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if origin := r.Header.Get("Origin"); origin != "" && origin != a.scheme()+"://"+r.Host || site == "cross-site" || site == "same-site" {
		return "", http.StatusForbidden, "pages of other sites may not send requests"
	}
	if !a.asks && !a.host(r.Host) {
		return "", http.StatusForbidden, "use the server's own address, not another name that points to it"
	}
	if open || !a.asks {
		return client, 0, ""
	}
	for token, name := range a.tokens {
		if subtle.ConstantTimeCompare([]byte(token), []byte(given(r))) == 1 {
			return name + " " + client, 0, ""
		}
	}
	return "", http.StatusUnauthorized, "the token is missing or unknown: send Authorization: Bearer TOKEN, or name:TOKEN@ in the address"
}

// given returns the token that a program sends: as a bearer token, or as the password in
// its address, which libraries send as a header.
func given(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func (a access) scheme() string {
	if a.secure {
		return "https"
	}
	return "http"
}

func (a access) unknown() (int, string) {
	return http.StatusUnauthorized, "the token is missing or of an earlier start: use the address that tessera serve printed"
}

func (a access) known(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(a.token)) == 1
}

// host reports whether a Host header names this server by an address. Any name but
// localhost could be someone's that points here (DNS rebinding), unless a certificate
// proves it.
func (a access) host(host string) bool {
	if a.secure {
		return true
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
	}
	_, own, err := net.SplitHostPort(a.addr.String())
	return err == nil && port == own && (name == "localhost" || net.ParseIP(name) != nil)
}
