// Package remote downloads files from http and https URLs and uploads files to them,
// such as signed URLs of object stores. It continues interrupted downloads by range and
// retries busy servers. The query of a URL may be a secret and appears in no message.
//
// Start at Transfer.Fetch and Transfer.Put:
//
//	var t remote.Transfer
//	_, err := t.Fetch(ctx, "https://example.com/clip.mp4", file)
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrRefused: the server refuses the request, and would refuse it again.
var ErrRefused = errors.New("refused")

// Transfer has the settings of downloads and uploads. The zero value uses the defaults.
type Transfer struct {
	Tries int                    // number of tries without progress before it gives up; 0: 6
	Pause time.Duration          // before the second try, doubled before each further one; 0: one second
	Stall time.Duration          // time without a byte that ends a try; 0: two minutes
	Room  func(size int64) error // called with the bytes to come, -1 if unknown, before a download and every 16 MiB; its error ends the download; nil: no check
	Begin func(State) error      // called before the first byte of a file, with the server's description; its error ends the download; nil: no check
	Come  func(have, all int64)  // receives the progress: bytes so far, and in all or -1; nil: no progress
}

// State identifies a version of the file at a URL.
type State struct {
	Tag  string // strong ETag, "" if the server sends none
	Size int64  // in bytes, -1 if unknown

	Made string // Last-Modified, "" if the server sends none
}

// Is reports whether an input or output is a URL.
func Is(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// Name returns a URL for messages: without user, query and fragment.
func Name(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		scheme, _, _ := strings.Cut(address, "://")
		return scheme + "://..."
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// Check refuses a text that is not the URL of a file.
func Check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || badPort(u) {
		return fmt.Errorf("%s: not the URL of a file, expected https://HOST/PATH: %w", Name(address), ErrRefused)
	}
	return nil
}

// badPort reports whether a URL has an invalid port.
func badPort(u *url.URL) bool {
	n, err := strconv.Atoi(u.Port())
	return u.Port() != "" && (err != nil || n < 1 || n > 65535)
}

// client follows redirects, except to addresses that are less private.
var client = &http.Client{
	Transport: func() http.RoundTripper {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // ranges count the file's own bytes
		return legible{t}
	}(),
	CheckRedirect: func(next *http.Request, via []*http.Request) error {
		switch first := via[0].URL; {
		case first.Scheme == "https" && next.URL.Scheme != "https":
			return fmt.Errorf("is redirected from https to %s: %w", next.URL.Scheme, ErrRefused)
		case next.URL.Scheme != "http" && next.URL.Scheme != "https":
			return fmt.Errorf("is redirected to %s, expected http or https: %w", next.URL.Scheme, ErrRefused)
		case next.URL.Hostname() == "" || badPort(next.URL):
			return fmt.Errorf("is redirected to %.100q, which is not a host and port: %w", next.URL.Host, ErrRefused)
		case len(via) >= 10:
			return fmt.Errorf("is redirected more than 10 times: %w", ErrRefused)
		case own(next.Context(), next.URL.Hostname()) && !own(next.Context(), first.Hostname()):
			return fmt.Errorf("is redirected to %s, a private address: %w", next.URL.Hostname(), ErrRefused)
		}
		return nil
	},
}

// legible refuses redirects to an invalid URL. Package http reports these like errors of
// the connection.
type legible struct{ http.RoundTripper }

func (l legible) RoundTrip(request *http.Request) (*http.Response, error) {
	r, err := l.RoundTripper.RoundTrip(request)
	if err != nil || r.StatusCode/100 != 3 {
		return r, err
	}
	if _, err := url.Parse(r.Header.Get("Location")); err != nil {
		r.Body.Close()
		return nil, fmt.Errorf("is redirected to %.100q, which is not a URL: %w", Name(r.Header.Get("Location")), ErrRefused)
	}
	return r, nil
}

// metadata are addresses where clouds give a machine its credentials, besides the
// link-local ones: AWS's for IPv6, and Alibaba's.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// own reports whether a host is this machine, or a service that trusts the machine's
// address. A foreign server must not redirect there.
func own(ctx context.Context, host string) bool {
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // a host that is not found cannot be asked
	return slices.ContainsFunc(all, func(a netip.Addr) bool {
		a = a.Unmap()
		return a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() || slices.Contains(metadata, a)
	})
}

// Fetch downloads the file at a URL to f, which is empty. If a connection breaks off, it
// continues after the last byte, or from the start if the server's file has changed.
func (t Transfer) Fetch(ctx context.Context, address string, f *os.File) (State, error) {
	return t.Continue(ctx, address, f, State{}, 0)
}

// Continue is Fetch to a file f that has the first bytes already, of the version that
// was describes.
func (t Transfer) Continue(ctx context.Context, address string, f *os.File, was State, have int64) (State, error) {
	d := download{Transfer: t, address: address, file: f, is: was, have: have}
	err := t.again(ctx, address, func(ctx context.Context, watch *watch) (bool, error) {
		most := d.most
		err := d.part(ctx, watch)
		return d.most > most, err
	})
	return d.is, err
}

// Look describes the file at a URL. It asks for the first byte, because signed URLs are
// valid for one method only.
func (t Transfer) Look(ctx context.Context, address string) (is State, err error) {
	err = t.again(ctx, address, func(ctx context.Context, _ *watch) (bool, error) {
		r, err := get(ctx, address, "bytes=0-0", "")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		if r.StatusCode == http.StatusRequestedRangeNotSatisfiable { // an empty file
			is = State{Size: 0}
			return false, nil
		}
		is = stateOf(r)
		return false, refusal(r)
	})
	return is, err
}

// Put uploads the size bytes of from to a URL.
func (t Transfer) Put(ctx context.Context, address string, from io.ReaderAt, size int64) error {
	return t.again(ctx, address, func(ctx context.Context, watch *watch) (bool, error) {
		body := func() (io.ReadCloser, error) {
			if size == 0 {
				return http.NoBody, nil
			}
			return io.NopCloser(watch.of(io.NewSectionReader(from, 0, size))), nil
		}
		first, _ := body()
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, first)
		if err != nil {
			return false, err
		}
		request.ContentLength, request.GetBody = size, body
		if strings.HasSuffix(request.URL.Hostname(), ".blob.core.windows.net") {
			request.Header.Set("x-ms-blob-type", "BlockBlob") // required by Azure
		}
		r, err := client.Do(request)
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return false, refusal(r)
	})
}

// again repeats a try until one succeeds, the server refuses, or several in a row make
// no progress.
func (t Transfer) again(ctx context.Context, address string, try func(context.Context, *watch) (further bool, err error)) error {
	if err := Check(address); err != nil {
		return err
	}
	for failed := 0; ; {
		within, w := watched(ctx, cmp.Or(t.Stall, 2*time.Minute))
		further, err := try(within, w)
		stalled := context.Cause(within)
		w.end()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(stalled, errStalled) {
			err = stalled
		}
		if failed++; further {
			failed = 1
		}
		final := errors.Is(err, ErrRefused) || errors.Is(err, errOwn)
		if final || failed >= cmp.Or(t.Tries, 6) {
			return told(address, failed, err)
		}
		if err := t.pause(ctx, failed, err); err != nil {
			return err
		}
	}
}

// longest limits the pause before a try.
const longest = 5 * time.Minute

// pause waits twice as long each time, or as long as the server asks for, plus a random
// part of it, so that refused clients do not all return at once.
func (t Transfer) pause(ctx context.Context, failed int, err error) error {
	wait := cmp.Or(t.Pause, time.Second) << min(failed-1, 10)
	if s, ok := errors.AsType[*statusError](err); ok {
		wait = max(wait, s.after)
	}
	wait = min(wait, longest)
	select {
	case <-time.After(wait + rand.N(wait/4+1)): // #nosec G404 -- spreads the tries, need not be secret
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// told returns an error without the secrets of a URL.
func told(address string, tries int, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // u contains the whole URL
	}
	if tries > 1 {
		return fmt.Errorf("%s: %w (after %d tries)", Name(address), err, tries)
	}
	return fmt.Errorf("%s: %w", Name(address), err)
}

// download is a file that arrives in parts.
type download struct {
	Transfer
	address string
	file    *os.File
	is      State
	have    int64 // bytes so far
	most    int64 // the most bytes that it ever had
}

// errOwn is a local error, which another try cannot cure.
var errOwn = errors.New("cannot be kept")

// part downloads the rest, or a part of it.
func (d *download) part(ctx context.Context, w *watch) error {
	same := cmp.Or(d.is.Tag, d.is.Made)
	if same == "" {
		d.have = 0
	}
	ask := ""
	if d.have > 0 {
		ask = fmt.Sprintf("bytes=%d-", d.have)
	}
	r, err := get(ctx, d.address, ask, same)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if err := refusal(r); err != nil {
		return err
	}
	is := stateOf(r)
	if r.StatusCode != http.StatusPartialContent {
		d.have = 0
	}
	if first := firstOf(r); d.have > 0 && (first != d.have || is.Size != d.is.Size) {
		d.have, d.is = 0, State{}
		return fmt.Errorf("answers with bytes from %d of %d, expected those from %s", first, is.Size, ask)
	}
	if d.have == 0 {
		if err := d.begin(is); err != nil {
			return err
		}
	}
	_, err = io.Copy(d, w.of(r.Body))
	d.most = max(d.most, d.have)
	if err == nil && d.is.Size >= 0 && d.have != d.is.Size {
		err = fmt.Errorf("ends after %d of %d bytes", d.have, d.is.Size)
	}
	return err
}

// begin reserves room for the file.
func (d *download) begin(is State) error {
	d.is = is
	if d.Room != nil {
		if err := d.Room(is.Size); err != nil {
			return &ownError{err}
		}
	}
	if d.Begin != nil {
		if err := d.Begin(is); err != nil {
			return &ownError{err}
		}
	}
	if err := d.file.Truncate(0); err != nil {
		return &ownError{err}
	}
	return nil
}

// Write appends to the file while there is room.
func (d *download) Write(b []byte) (int, error) {
	const part = 16 << 20
	if d.Room != nil && d.have/part < (d.have+int64(len(b)))/part {
		if err := d.Room(max(0, d.is.Size-d.have)); err != nil {
			return 0, &ownError{err}
		}
	}
	n, err := d.file.WriteAt(b, d.have)
	d.have += int64(n)
	if d.Come != nil {
		d.Come(d.have, d.is.Size)
	}
	if err != nil {
		err = &ownError{err}
	}
	return n, err
}

// ownError is an errOwn with its own text.
type ownError struct{ error }

func (e *ownError) Unwrap() []error { return []error{e.error, errOwn} }

// get asks for a range of a file, if the file has not changed; "" is the whole file.
func get(ctx context.Context, address, part, same string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if part != "" {
		request.Header.Set("Range", part)
	}
	if part != "" && same != "" {
		request.Header.Set("If-Range", same)
	}
	return client.Do(request)
}

// stateOf reads the headers of a response.
func stateOf(r *http.Response) State {
	is := State{Size: r.ContentLength, Made: r.Header.Get("Last-Modified")}
	if tag := r.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") {
		is.Tag = tag
	}
	if r.StatusCode == http.StatusPartialContent {
		is.Size = -1
		if _, all, found := strings.Cut(r.Header.Get("Content-Range"), "/"); found {
			if n, err := strconv.ParseInt(all, 10, 64); err == nil {
				is.Size = n
			}
		}
	}
	return is
}

// firstOf returns the first byte of a response's range.
func firstOf(r *http.Response) int64 {
	text, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Content-Range"), "bytes "), "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// statusError is a response that may differ at another try.
type statusError struct {
	error
	after time.Duration // pause that the server asks for
}

// reason returns an object store's explanation of an error.
var reason = regexp.MustCompile(`<Code>(\w{1,60})</Code>`)

// refusal returns the error for an unexpected response.
func refusal(r *http.Response) error {
	if r.StatusCode/100 == 2 {
		return nil
	}
	text := r.Status
	head, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	if m := reason.FindSubmatch(head); m != nil {
		text += " (" + string(m[1]) + ")"
	}
	switch r.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		return &statusError{fmt.Errorf("the server answers %s", text), min(max(0, time.Duration(seconds)*time.Second), longest)}
	}
	return fmt.Errorf("the server answers %s: %w", text, ErrRefused)
}
