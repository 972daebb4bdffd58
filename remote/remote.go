// Package remote downloads files from http and https URLs and uploads files to them,
// such as signed URLs of object stores. It continues interrupted downloads by range and
// retries busy servers. The query of a URL may be a secret and appears in no message.
//
// Start at Transfer.Fetch and Transfer.Put.
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

// ErrRefused: the server won't, whoever asks again in the same way.
var ErrRefused = errors.New("refused")

// Transfer is how files are brought and taken. The zero value is as the fields say.
type Transfer struct {
	Tries int                    // that come no further, before it is given up; 0: 6
	Pause time.Duration          // before the second, twice that before the next; 0: one second
	Stall time.Duration          // without a byte that ends a try; 0: two minutes
	Room  func(size int64) error // asked before so many bytes are brought, -1: unknown, and every 16 MiB for what is left; nil: nobody
	Begin func(State) error      // asked before the first byte of a file, with what the server says of it; nil: nobody
	Come  func(have, all int64)  // told of the bytes that have come, of all or of -1; nil: nobody
}

// State tells a file at a URL from what it was or will be.
type State struct {
	Tag  string // strong ETag, "" where the server gives none
	Size int64  // in bytes, -1 where it doesn't say

	Made string // Last-Modified, likewise
}

// Is is whether an input or output is a URL.
func Is(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// Name is a URL as it may be told: without user, query and fragment.
func Name(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		scheme, _, _ := strings.Cut(address, "://")
		return scheme + "://..."
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// Check refuses what is no URL of a file.
func Check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || badPort(u) {
		return fmt.Errorf("%s: not the URL of a file, expected https://HOST/PATH: %w", Name(address), ErrRefused)
	}
	return nil
}

// badPort reports whether a URL has a port that none is.
func badPort(u *url.URL) bool {
	n, err := strconv.Atoi(u.Port())
	return u.Port() != "" && (err != nil || n < 1 || n > 65535)
}

// client follows redirects, but to none that everybody can read.
var client = &http.Client{
	Transport: func() http.RoundTripper {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // ranges are of the file's own bytes
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

// legible refuses redirects to what is no URL, which package http would tell as any
// error of a connection.
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

// metadata are addresses, beside link-local ones, at which clouds tell a machine its
// credentials: of AWS by IPv6, and of Alibaba.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// own reports whether a host is this machine, or something that answers it because of
// where it is. A stranger's redirect may not lead there.
func own(ctx context.Context, host string) bool {
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // what can't be found can't be asked
	return slices.ContainsFunc(all, func(a netip.Addr) bool {
		a = a.Unmap()
		return a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() || slices.Contains(metadata, a)
	})
}

// Fetch brings the file at a URL to f, which is empty. Where a connection breaks off
// it goes on behind the last byte, if the file there is still the same, else from
// the start.
func (t Transfer) Fetch(ctx context.Context, address string, f *os.File) (State, error) {
	return t.Continue(ctx, address, f, State{}, 0)
}

// Continue is Fetch to f that has the first bytes already, of the file that was as its
// State says.
func (t Transfer) Continue(ctx context.Context, address string, f *os.File, was State, have int64) (State, error) {
	d := download{Transfer: t, address: address, file: f, is: was, have: have}
	err := t.again(ctx, address, func(ctx context.Context, watch *watch) (bool, error) {
		most := d.most
		err := d.part(ctx, watch)
		return d.most > most, err
	})
	return d.is, err
}

// Look tells what is at a URL now, by asking for its first byte: signed URLs are for
// one method.
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

// Put takes the size bytes of from to a URL.
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
			request.Header.Set("x-ms-blob-type", "BlockBlob") // which Azure wants to be told
		}
		r, err := client.Do(request)
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return false, refusal(r)
	})
}

// again makes tries until one succeeds, the server refuses or several in a row came
// no further.
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

// longest is for how long at most a server is waited for.
const longest = 5 * time.Minute

// pause waits for twice as long each time, or as long as the server asks for, and a
// random part of that more, so that not all who were refused come back at once.
func (t Transfer) pause(ctx context.Context, failed int, err error) error {
	wait := cmp.Or(t.Pause, time.Second) << min(failed-1, 10)
	if s, ok := errors.AsType[*statusError](err); ok {
		wait = max(wait, s.after)
	}
	wait = min(wait, longest)
	select {
	case <-time.After(wait + rand.N(wait/4+1)): // #nosec G404 -- to spread them, nobody is to be surprised
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// told is an error without the secrets of a URL.
func told(address string, tries int, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // u tells all of the URL
	}
	if tries > 1 {
		return fmt.Errorf("%s: %w (after %d tries)", Name(address), err, tries)
	}
	return fmt.Errorf("%s: %w", Name(address), err)
}

// download is a file that comes in parts.
type download struct {
	Transfer
	address string
	file    *os.File
	is      State
	have    int64 // bytes of it
	most    int64 // that there ever were
}

// errOwn is an error of this side, which no other try cures.
var errOwn = errors.New("cannot be kept")

// part brings what is missing, or a part of it.
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

// begin makes room for the file.
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

// Write appends to the file, as long as there is room.
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

// ownError is an errOwn in its own words.
type ownError struct{ error }

func (e *ownError) Unwrap() []error { return []error{e.error, errOwn} }

// get asks for a range of a file, as long as that is the same; "" is all of it.
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

// stateOf is what the headers of an answer tell.
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

// firstOf is the first byte of the range that an answer has.
func firstOf(r *http.Response) int64 {
	text, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Content-Range"), "bytes "), "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// statusError is an answer that another try may change.
type statusError struct {
	error
	after time.Duration // that the server asks for
}

// reason is what object stores say of an error.
var reason = regexp.MustCompile(`<Code>(\w{1,60})</Code>`)

// refusal is the error of an answer that isn't what was asked for.
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
