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
// opened by someone who was shown the token, and programs.
type access struct {
	token  string            // of the page
	tokens map[string]string // of programs, and what each of them is called
	asks   bool              // programs for one of them: others can reach the server
	secure bool              // what is sent is encrypted, and the server's name proved
	addr   net.Addr          // listened on
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
	if !a.host(r.Host) || err != nil || origin.Scheme != a.scheme() || origin.Host != r.Host {
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

// program says which client asks, or refuses it as socket does. No page of another
// site may ask, even where no token is needed; what is open needs none.
func (a access) program(r *http.Request, open bool) (client string, status int, why string) {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if origin := r.Header.Get("Origin"); origin != "" && origin != a.scheme()+"://"+r.Host || site == "cross-site" || site == "same-site" {
		return "", http.StatusForbidden, "no page of another site may ask"
	}
	if !a.asks && !a.host(r.Host) {
		return "", http.StatusForbidden, "this server is asked by its address, not by a name that points to it"
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

// given is the token that a program sends: as such, or as the password in its
// address, which libraries make a header of.
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

// host says whether a Host header names this server by an address. A name other
// than localhost could be anyone's that was pointed here (DNS rebinding), unless a
// certificate proves it.
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
