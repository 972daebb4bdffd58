package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type parameter struct {
	Name   string `json:"name"`
	In     string `json:"in"`
	Schema struct {
		Enum []string `json:"enum"`
	} `json:"schema"`
}

type operation struct {
	Parameters []parameter         `json:"parameters"`
	Responses  map[string]any      `json:"responses"`
	Security   []map[string]string `json:"security"`
}

// document is /openapi.json: paths, methods and what they are.
func document(t testing.TB) map[string]map[string]operation {
	t.Helper()
	var d struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(openAPI, &d))
	all := map[string]map[string]operation{}
	for path, methods := range d.Paths {
		all[path] = map[string]operation{}
		for method, raw := range methods {
			if method == "parameters" {
				continue
			}
			var o operation
			require.NoError(t, json.Unmarshal(raw, &o))
			all[path][strings.ToUpper(method)] = o
		}
	}
	return all
}

// The document has the endpoints that there are, what each can be asked, with the
// words that are taken, and which of them need no token.
func TestOpenAPI(t *testing.T) {
	a, url := start(t, &alone{}, Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	d := document(t)
	var patterns []string
	for path, methods := range d {
		for method, o := range methods {
			patterns = append(patterns, method+" "+path)
			for _, e := range a.endpoints() {
				if e.pattern == method+" "+path {
					assert.Equal(t, e.open, o.Security != nil, "%s needs no token", e.pattern)
				}
			}
		}
	}
	var want []string
	for _, e := range a.endpoints() {
		want = append(want, e.pattern)
	}
	assert.ElementsMatch(t, want, patterns)
	r, text := ask(t, "GET", url+"/openapi.json", "", nil)
	assert.Equal(t, http.StatusOK, r.StatusCode)
	assert.Equal(t, openAPI, text)

	expected := regexp.MustCompile(`expected ([^"]*)"`)
	for path, query := range map[string]string{"/v1/decode": "shape=1,16,1,1,1&dtype=float32", "/v1/encode": "shape=1,3,1,1&dtype=float32", "/v1/jobs": "kind=decode"} {
		words := func(more string) []string {
			r, text := ask(t, "POST", url+path+"?"+more, "", nil)
			require.Equal(t, http.StatusBadRequest, r.StatusCode, string(text))
			m := expected.FindStringSubmatch(string(text))
			require.NotNil(t, m, string(text))
			return strings.Split(m[1], ", ")
		}
		names, said := words(query+"&nothing=1"), []string{}
		for _, p := range d[path]["POST"].Parameters {
			said = append(said, p.Name)
			if len(p.Schema.Enum) == 0 || path == "/v1/jobs" && slices.Contains([]string{"input", "output"}, p.Name) {
				continue
			}
			q := strings.ReplaceAll(query, "dtype=float32", "")
			if p.Name != "dtype" {
				q = query
			}
			if path == "/v1/jobs" && p.Name == "kind" {
				q = ""
			} else if path == "/v1/jobs" && p.Name == "dtype" {
				q += "&shape=1,16,1,1,1"
			}
			assert.Equal(t, p.Schema.Enum, words(q+"&"+p.Name+"=nothing"), "%s of %s", p.Name, path)
		}
		if path == "/v1/jobs" { // asked for where there is a shape
			names = append(names, "dtype")
		}
		assert.ElementsMatch(t, names, said, path)
	}
}

// What is told of a job is what the document says.
func TestOpenAPIJob(t *testing.T) {
	var d struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(openAPI, &d))
	for name, value := range map[string]any{"Job": state{}, "Error": failure{}} {
		assert.ElementsMatch(t, d.Components.Schemas[name].fields(t, name, reflect.TypeOf(value)), d.Components.Schemas[name].Required, name)
	}
}

// schema is an object's.
type schema struct {
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
}

// fields compares a struct's with a schema, those of its structs too, and returns what is
// always there.
func (s schema) fields(t *testing.T, name string, of reflect.Type) (always []string) {
	t.Helper()
	var all []string
	for f := range of.Fields() {
		tag, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if all = append(all, tag); option == "" {
			always = append(always, tag)
		}
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			s.Properties[tag].fields(t, name+"."+tag, f.Type.Elem())
		}
	}
	assert.ElementsMatch(t, all, slices.Collect(maps.Keys(s.Properties)), name)
	return always
}

// Each endpoint is in docs/reference/http.md, and below a pattern that the program's server hands
// to the API.
func TestEndpointsAreServed(t *testing.T) {
	guide, err := os.ReadFile("../../docs/reference/http.md")
	require.NoError(t, err)
	a := &API{}
	for _, e := range a.endpoints() {
		_, path, _ := strings.Cut(e.pattern, " ")
		said := regexp.MustCompile("`(?:[A-Z]+ )?" + regexp.QuoteMeta(strings.ReplaceAll(path, "{id}", "ID")) + "[`?,]")
		assert.True(t, said.Match(guide), "docs/reference/http.md lacks %s", e.pattern)
		assert.True(t, slices.ContainsFunc(a.Patterns(), func(pattern string) bool {
			return pattern == path || strings.HasSuffix(pattern, "/") && strings.HasPrefix(path, pattern)
		}), "Patterns lacks %s", path)
	}
}

// documented holds the statuses that were answered to those that the document has.
func documented(t testing.TB, a *API) {
	t.Helper()
	d := document(t)
	families, err := a.metrics.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "tessera_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			method, path, _ := strings.Cut(labels["endpoint"], " ")
			assert.Contains(t, d[path][method].Responses, labels["status"], labels["endpoint"])
		}
	}
}

// The numbers that Prometheus reads.
func TestMetrics(t *testing.T) {
	_, url := start(t, &alone{}, Options{Places: 7, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	ask(t, "POST", url+"/v1/decode", "", nil)
	ask(t, "POST", url+"/v1/jobs?input=npy&size=5", "", nil)
	r, text := ask(t, "GET", url+"/metrics", "", nil)
	require.Equal(t, http.StatusOK, r.StatusCode)
	for _, line := range []string{
		`tessera_requests_total{endpoint="POST /v1/decode",status="400"} 1`, `tessera_request_seconds_count{endpoint="POST /v1/decode"} 1`,
		`tessera_jobs{state="receiving"} 1`, "tessera_places 7", "tessera_places_taken 1",
		fmt.Sprintf("tessera_disk_free_bytes %v", float64(10<<30)), "tessera_models_loaded 0", "go_goroutines ",
	} {
		assert.Contains(t, string(text), "\n"+line)
	}
}
