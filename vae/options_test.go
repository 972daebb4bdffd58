package vae

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
)

// The engine receives every option that it has from those of this package.
func TestOptionsOfTheEngine(t *testing.T) {
	var o Options
	set := reflect.ValueOf(&o).Elem()
	fill(set)
	passed := reflect.ValueOf(o.engine())
	for f := range reflect.TypeFor[engine.Options]().Fields() {
		require.True(t, set.FieldByName(f.Name).IsValid(), "Options lacks %s of engine.Options", f.Name)
		assert.Equal(t, set.FieldByName(f.Name).Interface(), passed.FieldByName(f.Name).Interface(), f.Name)
	}
}

// fill sets every field to a value that is not its zero, except functions.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Func: // two functions are never equal
	default:
		panic("fill: a new kind of field: " + v.Type().String())
	}
}
