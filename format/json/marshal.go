package json

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"unicode/utf8"
)

// Marshal writes bools, numbers, strings, slices, pointers, maps with string keys, and
// structs of these. All fields of a struct have a json tag with their name, except
// embedded ones, which are written in its place, and blank ones. NaN and infinity become
// null. Other types are a bug.
func Marshal(v any) []byte { return appendValue(nil, reflect.ValueOf(v)) }

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Invalid:
		return append(b, "null"...)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int64, reflect.Int32:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Uint64, reflect.Uint32:
		return strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Float64, reflect.Float32:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return strconv.AppendFloat(b, f, 'g', -1, v.Type().Bits())
		}
		return append(b, "null"...)
	case reflect.String:
		return AppendString(b, v.String())
	case reflect.Pointer, reflect.Interface:
		return appendValue(b, v.Elem())
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			b = appendValue(comma1(b, i), v.Index(i))
		}
		return append(b, ']')
	case reflect.Struct:
		return append(appendFields(append(b, '{'), v, 0), '}')
	case reflect.Map:
		return appendMap(b, v)
	}
	panic(fmt.Sprintf("json: marshal of %v", v.Type()))
}

// appendFields writes the fields of a struct, including those of an embedded one. n
// fields were written before.
func appendFields(b []byte, v reflect.Value, n int) []byte {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Anonymous:
			b = appendFields(b, v.Field(i), n)
			n++
		case f.Name != "_":
			b = append(AppendString(comma1(b, n), f.Tag.Get("json")), ':')
			b = appendValue(b, v.Field(i))
			n++
		}
	}
	return b
}

// appendMap sorts by key.
func appendMap(b []byte, v reflect.Value) []byte {
	var keys []string
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	sort.Stable(sort.StringSlice(keys)) // slices.Sort would add 25 kB to the page's engine
	b = append(b, '{')
	for i, k := range keys {
		b = append(AppendString(comma1(b, i), k), ':')
		b = appendValue(b, v.MapIndex(reflect.ValueOf(k)))
	}
	return append(b, '}')
}

func comma1(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

// AppendString writes a quoted string. Invalid UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// maxDepth limits the nesting of a value that Unmarshal reads.
const maxDepth = 32

// Unmarshal reads an object into the struct that v points to, by the fields'
// json tags. Keys without a field are skipped, null leaves a field as it is.
// Fields are bools, numbers, strings, structs and pointers to them.
func Unmarshal(text []byte, v any) error {
	d := NewDecoder(text)
	if err := d.into(reflect.ValueOf(v).Elem(), "", 0); err != nil {
		return err
	}
	if d.peek(); d.at < len(text) {
		return d.unexpected("the end")
	}
	return nil
}

// into reads a value into v; where is its path.
func (d *Decoder) into(v reflect.Value, where string, depth int) error {
	if depth > maxDepth {
		return errors.New("nests too deep")
	}
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	wrong := func() error { return fmt.Errorf("%s is %.40q, expected %v", where, fmt.Sprint(t), v.Kind()) }
	switch t := t.(type) {
	case Delim:
		if v.IsValid() && (v.Kind() != reflect.Struct || t != '{') {
			return wrong()
		}
		return d.members(t, v, where, depth)
	case Number:
		if v.IsValid() && !setNumber(v, string(t)) {
			return wrong()
		}
	case string:
		if v.IsValid() && v.Kind() != reflect.String {
			return wrong()
		} else if v.IsValid() {
			v.SetString(t)
		}
	case bool:
		if v.IsValid() && v.Kind() != reflect.Bool {
			return wrong()
		} else if v.IsValid() {
			v.SetBool(t)
		}
	}
	return nil
}

// members reads the content of an object or array; an invalid v skips it.
func (d *Decoder) members(open Delim, v reflect.Value, where string, depth int) error {
	for d.More() {
		var field reflect.Value
		name := where
		if open == '{' {
			k, err := d.Token()
			if err != nil {
				return err
			}
			name, _ = k.(string)
			if v.IsValid() {
				field = fieldOf(v, name)
			}
		}
		if err := d.into(field, name, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func fieldOf(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("json"); tag != "" && tag == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// setNumber reports whether v can hold the number.
func setNumber(v reflect.Value, text string) bool {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
		return err == nil
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		v.SetFloat(f)
		return err == nil
	}
	return false
}
