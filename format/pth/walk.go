package pth

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tessera/format/quote"
)

// Limits of a pickle. torch.save writes about 45 instructions per tensor and nests marks
// four deep; an instruction needs at most about 300 bytes of memory.
const (
	maxInstructions = 1 << 18
	maxMarks        = 16
	maxGlobal       = 255 // bytes of the name of a module or global
)

// The instructions that torch.save writes, in pickle's protocol 2.
const (
	opMark       = '('
	opStop       = '.'
	opInt1       = 'K'
	opInt2       = 'M'
	opInt4       = 'J'
	opLong1      = 0x8a
	opFloat      = 'G'
	opNone       = 'N'
	opTrue       = 0x88
	opFalse      = 0x89
	opUnicode    = 'X'
	opGlobal     = 'c'
	opPersistent = 'Q'
	opReduce     = 'R'
	opBuild      = 'b'
	opEmptyList  = ']'
	opAppend     = 'a'
	opAppends    = 'e'
	opEmptyDict  = '}'
	opSetItem    = 's'
	opSetItems   = 'u'
	opEmptyTuple = ')'
	opTuple      = 't'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opPut1       = 'q'
	opPut4       = 'r'
	opGet1       = 'h'
	opGet4       = 'j'
	opProtocol   = 0x80
)

// instruction is an instruction of a pickle.
type instruction struct {
	at   int // offset
	code byte
	// arg is its operand: a little-endian number, a string's text, or a global's module
	// and name separated by a newline.
	arg string
}

// number returns the operand of a put or a get.
func (i instruction) number() int { return int(unsigned(i.arg)) }

// walk checks a pickle without executing it. It refuses instructions that torch.save does
// not write, unknown globals, operands that extend beyond the end, memo numbers out of
// order, unlimited marks and anything after the end. The rest can neither name code nor
// take more time and memory than its length allows. visit, if not nil, receives each
// checked instruction.
func walk(data string, visit func(instruction) error) error {
	w := walker{data: data}
	for {
		i, err := w.next()
		if err == nil {
			err = w.check(i)
		}
		if err == nil && visit != nil {
			err = visit(i)
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", i.at, err)
		}
		if i.code == opStop {
			break
		}
	}
	if w.at != len(data) {
		return fmt.Errorf("byte %d: the pickle ends here, but %d bytes follow", w.at, len(data)-w.at)
	}
	return nil
}

type walker struct {
	data  string
	at    int
	count int // instructions so far
	marks int // open marks
	memo  int // memo numbers in use: 0 to memo-1
}

// next reads an instruction.
func (w *walker) next() (instruction, error) {
	i := instruction{at: w.at}
	code, err := w.take(1)
	if err != nil {
		return i, err
	}
	i.code = code[0]
	if w.count == 0 && i.code != opProtocol {
		return i, fmt.Errorf("the pickle begins with %#02x, expected %#02x for its protocol", i.code, opProtocol)
	}
	switch i.code {
	case opMark, opStop, opNone, opTrue, opFalse, opPersistent, opReduce, opBuild,
		opEmptyList, opAppend, opAppends, opEmptyDict, opSetItem, opSetItems,
		opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3:
	case opProtocol, opInt1, opPut1, opGet1:
		i.arg, err = w.take(1)
	case opInt2:
		i.arg, err = w.take(2)
	case opInt4, opPut4, opGet4:
		i.arg, err = w.take(4)
	case opFloat:
		i.arg, err = w.take(8)
	case opLong1:
		i.arg, err = w.long()
	case opUnicode:
		i.arg, err = w.text()
	case opGlobal:
		i.arg, err = w.global()
	default:
		err = fmt.Errorf("instruction %#02x, expected one of those that torch.save writes", i.code)
	}
	return i, err
}

// check checks an instruction against the limits.
func (w *walker) check(i instruction) error {
	if w.count++; w.count > maxInstructions {
		return fmt.Errorf("more than %d instructions", maxInstructions)
	}
	switch i.code {
	case opProtocol:
		if w.count > 1 || i.arg[0] != 2 {
			return fmt.Errorf("pickle protocol %d, expected 2, at the start only: %s", i.arg[0], resave)
		}
	case opMark:
		if w.marks++; w.marks > maxMarks {
			return fmt.Errorf("marks nest deeper than %d", maxMarks)
		}
	case opTuple, opAppends, opSetItems:
		if w.marks--; w.marks < 0 {
			return fmt.Errorf("instruction %q without a mark", i.code)
		}
	case opStop:
		if w.marks > 0 {
			return fmt.Errorf("the pickle ends with %d open marks", w.marks)
		}
	case opPut1, opPut4:
		// torch counts up, and may use a number again.
		n := i.number()
		if n > w.memo {
			return fmt.Errorf("memo number %d, expected %d", n, w.memo)
		}
		w.memo = max(w.memo, n+1)
	case opGet1, opGet4:
		if n := i.number(); n >= w.memo {
			return fmt.Errorf("memo number %d does not exist, there are %d", n, w.memo)
		}
	case opGlobal:
		if known(i.arg) == nil {
			return fmt.Errorf("it uses %s, expected only tensors and containers: "+
				"it holds more than a state_dict, and might run code", quote.Name(strings.Replace(i.arg, "\n", ".", 1)))
		}
	}
	return nil
}

func (w *walker) take(n int) (string, error) {
	if n > len(w.data)-w.at {
		return "", fmt.Errorf("%d bytes needed, the pickle has %d more: truncated", n, len(w.data)-w.at)
	}
	w.at += n
	return w.data[w.at-n : w.at], nil
}

// long reads an integer of up to 64 bits, preceded by its length.
func (w *walker) long() (string, error) {
	n, err := w.take(1)
	if err != nil {
		return "", err
	}
	if n[0] < 1 || n[0] > 8 {
		return "", fmt.Errorf("integer of %d bytes, expected 1 to 8", n[0])
	}
	return w.take(int(n[0]))
}

func (w *walker) text() (string, error) {
	n, err := w.take(4)
	if err != nil {
		return "", err
	}
	s, err := w.take(int(unsigned(n)))
	if err == nil && !utf8.ValidString(s) {
		err = fmt.Errorf("string %s is not UTF-8", quote.Name(s))
	}
	return s, err
}

// global reads two lines.
func (w *walker) global() (string, error) {
	rest := w.data[w.at:]
	rest = rest[:min(len(rest), 2*maxGlobal+2)]
	module := strings.IndexByte(rest, '\n')
	name := strings.IndexByte(rest[module+1:], '\n')
	if module < 0 || name < 0 {
		return "", fmt.Errorf("global %s has no end within %d bytes", quote.Name(rest), len(rest))
	}
	s, err := w.take(module + 1 + name + 1)
	return strings.TrimSuffix(s, "\n"), err
}
