//go:build !js

package pth

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/nlpodyssey/gopickle/pickle"
)

// unpickle executes a pickle with gopickle, which receives only what walk accepted,
// because gopickle does not check lengths and globals. A panic of gopickle, such as on a
// key without a value, becomes an error.
func unpickle(data string) (root any, err error) {
	changed := []byte(data)
	err = walk(data, func(i instruction) error {
		// gopickle handles collections.OrderedDict with a dict that drops repeated keys.
		// For another name it calls FindClass.
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

// lower reverses unpickle's change.
func lower(module string) string {
	if module == "Collections" {
		return "collections"
	}
	return module
}

// short shortens gopickle's print of a whole value.
func short(err error) error {
	const most = 300
	if text := err.Error(); len(text) > most {
		return errors.New(text[:most] + "…")
	}
	return err
}
