// Package serve serves the page and runs its jobs on this machine's engine, over a
// websocket that carries the messages of web/protocol.js. It also serves the HTTP API of
// package api.
//
//	s, err := serve.New("127.0.0.1:7878", serve.Options{Page: page})
//	...
//	defer s.Close()
//	fmt.Println("open", s.URL())
//	err = s.Serve()
//
// The page is for the user's own browser. It needs this start's token, must come from
// this server, can open only files in one folder, and sends its input piece by piece on
// request. Programs on this machine need no token; if other machines can reach the
// server, they do.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/netutil"

	"tessera/app/api"
	"tessera/app/session"
	"tessera/gpu"
	"tessera/vae"
)

// Options configure the server.
type Options struct {
	Page   fs.FS  // index.html and its files
	Folder string // pages may open its files by path; "" for none
	Device gpu.Options
	// MaxPages limits the connected pages; 0 means 64.
	MaxPages int
	// MaxMessage limits a page's message, in bytes; 0 means a frame of 7680x4320 pixels
	// with its header.
	MaxMessage int64
	// Idle is how long a connection may be silent before it is closed: one kept alive for
	// more requests, or a page's before its first message. If MaxPages are open, a page
	// that has had nothing to do for ten times as long makes room. 0 means a minute.
	Idle time.Duration
	// Stall is how long a page may delay the device while others wait for it; 0 means 30
	// seconds.
	Stall time.Duration
	// Choose chooses kernels; see vae.KernelSettings.
	Choose vae.Chooser
	// Arrived is called when a page has shown the token; nil is not called.
	Arrived func()
	// API are package api's options. The server sets Allow and Log.
	API api.Options
	// Tokens are the programs' tokens, with each one's name. If there are none and one is
	// needed, programs use the page's.
	Tokens map[string]string
	// Certificates make the server use https; without them it uses http.
	Certificates []tls.Certificate
	// MaxConnections limits the open connections; 0 means 1024. One address may have
	// three quarters of them.
	MaxConnections int
	// Log receives one line per event, without a line break; nil drops them.
	Log func(line string)
}

// Server is a page and an engine on one address.
type Server struct {
	o      Options
	access access
	engine *engine
	page   *static
	http   *http.Server
	listen net.Listener

	mu     sync.Mutex
	closed bool
	pages  map[*conn]struct{}
	idle   sync.WaitGroup // waits for pages
}

// New listens on addr, such as 127.0.0.1:7878. The caller closes the server.
func New(addr string, o Options) (*Server, error) {
	if o.MaxPages == 0 {
		o.MaxPages = 64
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = 4*7680*4320 + maxHeader
	}
	if o.Idle == 0 {
		o.Idle = time.Minute
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 1024
	}
	if o.Arrived == nil {
		o.Arrived = func() {}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	page, err := newStatic(o.Page)
	if err != nil {
		return nil, err
	}
	e := &engine{options: o.Device}
	if o.Folder != "" {
		if e.root, err = os.OpenRoot(o.Folder); err != nil {
			return nil, fmt.Errorf("serve: folder: %w", err)
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		e.close()
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &Server{o: o, engine: e, page: page, listen: l, pages: map[*conn]struct{}{}}
	s.admit()
	if e.api, err = s.newAPI(); err != nil {
		return nil, errors.Join(err, l.Close(), e.close())
	}
	mux := http.NewServeMux()
	for _, pattern := range e.api.Patterns() {
		mux.Handle(pattern, e.api)
	}
	mux.Handle("/", page)
	mux.HandleFunc("GET /engine", s.connect)
	mux.HandleFunc("GET /folder", s.folder)
	s.http = &http.Server{
		Handler: mux, MaxHeaderBytes: 32 << 10,
		ErrorLog:          log.New(&connectionErrors{log: o.Log, now: time.Now, last: map[string]time.Time{}}, "", 0),
		ReadHeaderTimeout: min(10*time.Second, o.Idle), ReadTimeout: min(10*time.Second, o.Idle), IdleTimeout: o.Idle, WriteTimeout: 10 * time.Minute, // websockets have no limit
	}
	return s, nil
}

// admit sets who may use the server.
func (s *Server) admit() {
	s.access = access{token: newToken(), tokens: s.o.Tokens, secure: len(s.o.Certificates) > 0, addr: s.listen.Addr()}
	if s.access.asks = s.Beyond() || len(s.o.Tokens) > 0; len(s.o.Tokens) == 0 {
		s.access.tokens = map[string]string{s.access.token: "page"}
	}
}

// newAPI creates the API for programs.
func (s *Server) newAPI() (*api.API, error) {
	o := s.o.API
	o.Allow, o.Log = s.access.program, s.o.Log
	for i := range o.Models {
		o.Models[i].Settings.Kernels.Choose = s.o.Choose
	}
	return api.New(programs{s.engine}, o)
}

// URL returns the page's address with this start's token. The browser does not send the
// part after #.
func (s *Server) URL() string {
	return fmt.Sprintf("%s://%s/#token=%s", s.access.scheme(), s.listen.Addr(), s.access.token)
}

// Beyond reports whether other machines can reach the server.
func (s *Server) Beyond() bool {
	a, ok := s.listen.Addr().(*net.TCPAddr)
	return !ok || !a.IP.IsLoopback()
}

// Serve handles requests until Close.
func (s *Server) Serve() error {
	l := newShared(netutil.LimitListener(s.listen, s.o.MaxConnections), max(1, s.o.MaxConnections*3/4))
	serve := func() error { return s.http.Serve(l) }
	if s.access.secure {
		s.http.TLSConfig = &tls.Config{Certificates: s.o.Certificates, MinVersion: tls.VersionTLS12}
		serve = func() error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Close cancels all jobs, closes all connections and releases the device.
func (s *Server) Close() error {
	err := s.http.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.pages {
		go c.end(websocket.StatusGoingAway, errors.New("serve: the server is shutting down"))
	}
	s.mu.Unlock()
	s.idle.Wait()
	return errors.Join(err, s.engine.close())
}

// Token returns a token for programs, "" if they need none.
func (s *Server) Token() string {
	if !s.access.asks {
		return ""
	}
	return s.access.token
}

// connect handles a page's websocket until it ends.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	if status, why := s.access.socket(r); status != 0 {
		s.o.Log(fmt.Sprintf("refused a connection from origin %.100q: %s", r.Header.Get("Origin"), why))
		http.Error(w, why, status)
		return
	}
	s.o.Arrived()
	// The origin was checked already, more strictly than Accept would.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	c := s.newConn(ws)
	defer c.page.Close()
	defer c.stop(nil)
	if !s.enter(c) {
		ws.Close(websocket.StatusTryAgainLater, fmt.Sprintf("%d pages are already open", s.o.MaxPages))
		return
	}
	defer s.leave(c)
	go c.watch(s.engine, s.o)
	err = c.receive()
	if cause := context.Cause(c.ctx); cause != nil {
		err = cause
	}
	c.stop(err)
	c.page.Close()
	s.hangUp(ws, err)
}

func (s *Server) newConn(ws *websocket.Conn) *conn {
	ws.SetReadLimit(s.o.MaxMessage)
	c := &conn{ws: ws, heard: time.Now()}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	c.page = session.New(c, desk{s.engine}, session.Options{Kind: "native", Choose: s.o.Choose, MaxAnswer: int(s.o.MaxMessage) - maxHeader})
	return c
}

// hangUp closes the connection and tells the page why, unless the page knows.
func (s *Server) hangUp(ws *websocket.Conn, err error) {
	if websocket.CloseStatus(err) != -1 {
		return
	}
	s.o.Log(fmt.Sprintf("a page's connection ended: %v", err))
	status := websocket.StatusPolicyViolation
	if errors.Is(err, websocket.ErrMessageTooBig) {
		status, err = websocket.StatusMessageTooBig, fmt.Errorf("a message may have %d bytes", s.o.MaxMessage)
	}
	ws.Close(status, reason(err))
}

func (s *Server) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.pages) >= s.o.MaxPages && !s.makeRoom() {
		return false
	}
	s.pages[c] = struct{}{}
	s.engine.pages.Add(1)
	s.idle.Add(1)
	return true
}

// makeRoom disconnects the page that has been idle longest, if that is long. Callers hold
// mu.
func (s *Server) makeRoom() bool {
	var idlest *conn
	longest := 10 * s.o.Idle
	for c := range s.pages {
		if since, _ := c.quiet(); since > longest && c.page.Idle() {
			idlest, longest = c, since
		}
	}
	if idlest == nil {
		return false
	}
	delete(s.pages, idlest)
	go idlest.end(websocket.StatusTryAgainLater, errors.New("serve: this page was idle and another needed its place: reload the page"))
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	delete(s.pages, c)
	s.mu.Unlock()
	s.engine.pages.Add(-1)
	s.idle.Done()
}
