package pth

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/nlpodyssey/gopickle/types"
)

// unpickler executes a pickle after walk has checked it.
type unpickler func(data string) (any, error)

// evaluate is unpickle without gopickle's package pickle, which with its arithmetic is a
// tenth of the engine in a browser. Both return the same values.
func evaluate(data string) (any, error) {
	m := machine{}
	if err := walk(data, m.step); err != nil {
		return nil, err
	}
	v, err := m.pop(1)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

type machine struct {
	stack []any
	marks []int // stack heights
	memo  []any
}

// pop removes n values from above the last mark.
func (m *machine) pop(n int) ([]any, error) {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	at := len(m.stack) - n
	if at < floor {
		return nil, fmt.Errorf("%d values needed, there are %d", n, len(m.stack)-floor)
	}
	top := m.stack[at:]
	m.stack = m.stack[:at]
	return top, nil
}

// popMark removes all values above the last mark, and the mark.
func (m *machine) popMark() []any {
	last := len(m.marks) - 1
	top := m.stack[m.marks[last]:]
	m.stack, m.marks = m.stack[:m.marks[last]], m.marks[:last]
	return top
}

// top returns the last value without removing it.
func (m *machine) top() (any, error) {
	v, err := m.pop(1)
	if err != nil {
		return nil, err
	}
	m.stack = m.stack[:len(m.stack)+1]
	return v[0], nil
}

// step executes an instruction.
func (m *machine) step(i instruction) (err error) {
	var v any
	switch i.code {
	case opProtocol, opStop: // evaluate reads the value
		return nil
	case opMark:
		m.marks = append(m.marks, len(m.stack))
		return nil
	case opPut1, opPut4:
		return m.put(i.number())
	case opAppend:
		return m.extend(m.pop(1))
	case opAppends:
		return m.extend(m.popMark(), nil)
	case opSetItem:
		return m.set(m.pop(2))
	case opSetItems:
		return m.set(m.popMark(), nil)
	case opBuild:
		return m.build()
	case opTuple:
		v = tuple(m.popMark())
	case opPersistent, opReduce, opTuple1, opTuple2, opTuple3:
		v, err = m.combine(i.code)
	default:
		v = m.value(i)
	}
	m.stack = append(m.stack, v)
	return err
}

// value returns what an instruction pushes if it reads nothing from the stack.
func (m *machine) value(i instruction) any {
	switch i.code {
	case opNone:
		return nil
	case opTrue, opFalse:
		return i.code == opTrue
	case opInt1, opInt2:
		return i.number()
	case opInt4, opLong1:
		unused := 64 - 8*len(i.arg)
		return int(int64(unsigned(i.arg)<<unused) >> unused)
	case opFloat:
		return math.Float64frombits(bits.ReverseBytes64(unsigned(i.arg))) // the only big-endian number
	case opUnicode:
		return i.arg
	case opGlobal:
		return known(i.arg)
	case opEmptyList:
		return types.NewList()
	case opEmptyDict:
		return types.NewDict()
	case opEmptyTuple:
		return tuple(nil)
	case opGet1, opGet4:
		return m.memo[i.number()]
	}
	panic(fmt.Sprintf("pth: instruction %#02x passed the check", i.code))
}

// tuple makes a tuple of stack values.
func tuple(values []any) *types.Tuple {
	return types.NewTupleFromSlice(append([]any(nil), values...))
}

// combine makes a value from others on the stack.
func (m *machine) combine(code byte) (any, error) {
	n := 2
	switch code {
	case opPersistent, opTuple1:
		n = 1
	case opTuple3:
		n = 3
	}
	v, err := m.pop(n)
	switch {
	case err != nil:
		return nil, err
	case code == opPersistent:
		return loadStorage(v[0])
	case code == opReduce:
		return call(v[0], v[1])
	}
	return tuple(v), nil
}

// call calls a class or a function.
func call(f, args any) (any, error) {
	function, ok1 := f.(types.Callable)
	list, ok2 := args.(*types.Tuple)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("call of %s with %s, expected a function and a tuple", kind(f), kind(args))
	}
	return function.Call(*list...)
}

func (m *machine) put(n int) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	if n == len(m.memo) {
		m.memo = append(m.memo, v)
	}
	m.memo[n] = v
	return nil
}

// extend appends items to the list below them.
func (m *machine) extend(items []any, err error) error {
	if err != nil {
		return err
	}
	target, err := m.top()
	if err != nil {
		return err
	}
	list, ok := target.(types.ListAppender)
	if !ok {
		return fmt.Errorf("%d items are added to %s, expected a list", len(items), kind(target))
	}
	for _, v := range items {
		list.Append(v)
	}
	return nil
}

// set stores pairs of a key and a value in the dict below them.
func (m *machine) set(items []any, err error) error {
	if err != nil {
		return err
	}
	target, err := m.top()
	if err != nil {
		return err
	}
	d, ok := target.(types.DictSetter)
	if !ok || len(items)%2 != 0 {
		return fmt.Errorf("%d items are set in %s, expected pairs and a dict", len(items), kind(target))
	}
	for i := 0; i < len(items); i += 2 {
		d.Set(items[i], items[i+1])
	}
	return nil
}

// build sets attributes.
func (m *machine) build() error {
	if _, err := m.pop(1); err != nil {
		return err
	}
	v, err := m.top()
	if _, ok := v.(*ordered); err == nil && !ok {
		err = fmt.Errorf("attributes are set on %s, expected an OrderedDict", kind(v))
	}
	return err
}
