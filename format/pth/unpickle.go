//go:build !js

package pth

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/nlpodyssey/gopickle/pickle"
)

// unpickle carries out a pickle by way of gopickle, which is given only what
// walk let pass: left alone it takes lengths and globals as they come. What it
// panics at, such as a key without a value, becomes an error.
func unpickle(data string) (root any, err error) {
	changed := []byte(data)
	err = walk(data, func(i instruction) error {
		// gopickle answers for collections.OrderedDict itself, by a dict that
		// swallows a name given twice. Under another name it asks FindClass.
		if i.code == opGlobal && i.arg[0] == 'c' {
			changed[i.at+1] = 'C'
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("the pickle is broken: %.200v", r)
		}
	}()
	u := pickle.NewUnpickler(bytes.NewReader(changed))
	u.FindClass = func(module, name string) (any, error) {
		return known(lower(module) + "\n" + name), nil
	}
	u.PersistentLoad = loadStorage
	root, err = u.Load()
	if err != nil {
		return nil, short(err)
	}
	return root, nil
}

// lower undoes the change of unpickle.
func lower(module string) string {
	if module == "Collections" {
		return "collections"
	}
	return module
}

// short cuts what gopickle prints of a whole value.
func short(err error) error {
	const most = 300
	if text := err.Error(); len(text) > most {
		return errors.New(text[:most] + "…")
	}
	return err
}
