// Command hidden finds the Dawn in a library that contains one and does not export it,
// such as ONNX Runtime's WebGPU provider:
//
//	go run ./tools/hidden onnxruntime_providers_webgpu.dll
//
// It reads a PE or ELF file and prints the line for hidden in
// gpu/internal/dawn/hidden.go: the file's SHA-256, and the distance from an exported
// function to wgpuGetProcAddress.
//
// Dawn keeps its functions in a DawnProcTable (dawn_proc_table.h), the longest run of
// pointers to functions in a library's writable data. It begins with createInstance,
// getInstanceFeatures, getInstanceLimits, hasInstanceFeature and getProcAddress.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// exported is the function from which the distance counts.
const exported = "CreateEpFactories"

// image is a library as the system's loader lays it out.
type image struct {
	data     []byte            // by address
	pointers map[uint64]uint64 // the addresses that the loader adjusts, and where they point
	segments []segment
	exported uint64
}

// segment is a part of a library with one protection.
type segment struct {
	from, to uint64
	kind     kind
}

type kind int

const (
	other kind = iota
	code
	writable
)

// add adds a part of the file at an address.
func (i *image) add(address, size uint64, data []byte, executable, written bool) {
	if more := int(address+max(size, uint64(len(data)))) - len(i.data); more > 0 {
		i.data = append(i.data, make([]byte, more)...)
	}
	copy(i.data[address:], data)
	s := segment{address, address + size, other}
	if executable {
		s.kind = code
	} else if written {
		s.kind = writable
	}
	i.segments = append(i.segments, s)
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/hidden FILE...")
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		line, err := place(name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "hidden: %s: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Println(line)
	}
}

// place returns the line for a file.
func place(name string) (string, error) {
	file, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	read := readELF
	if bytes.HasPrefix(file, []byte("MZ")) {
		read = readPE
	}
	i, err := read(file)
	if err != nil {
		return "", err
	}
	get, err := i.getProcAddress()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\"%x\": %#x, // %s", sha256.Sum256(file), int64(get-i.exported), filepath.Base(name)), nil
}

// getProcAddress returns the address of wgpuGetProcAddress.
func (i *image) getProcAddress() (uint64, error) {
	const shortest, place = 200, 4 // functions of a DawnProcTable, the place of this one
	var table, most uint64
	for at := range i.pointers {
		n := uint64(0)
		for i.function(at + 8*n) {
			n++
		}
		if n > most {
			table, most = at, n
		}
	}
	if most < shortest || !bytes.Contains(i.data, []byte("\x00wgpuAdapterCreateDevice\x00")) {
		return 0, fmt.Errorf("no Dawn: its longest table has %d functions, expected at least %d and wgpuAdapterCreateDevice's name", most, shortest)
	}
	return i.pointers[table+8*place], nil
}

// function reports whether there is a pointer to a function at an address.
func (i *image) function(at uint64) bool {
	to, there := i.pointers[at]
	return there && i.of(at) == writable && i.of(to) == code
}

// of returns the kind of the segment that has the address.
func (i *image) of(address uint64) kind {
	for _, s := range i.segments {
		if s.from <= address && address < s.to {
			return s.kind
		}
	}
	return other
}

// readPE lays out a Windows library.
func readPE(file []byte) (*image, error) {
	f, err := pe.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	header, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return nil, errors.New("not a 64-bit library")
	}
	i := &image{pointers: map[uint64]uint64{}}
	for _, s := range f.Sections {
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		i.add(uint64(s.VirtualAddress), uint64(s.VirtualSize), data,
			s.Characteristics&pe.IMAGE_SCN_MEM_EXECUTE != 0, s.Characteristics&pe.IMAGE_SCN_MEM_WRITE != 0)
	}
	word := func(at uint32) uint32 { return binary.LittleEndian.Uint32(i.data[at:]) }

	const dir64 = 10
	relocations := header.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_BASERELOC]
	for at := relocations.VirtualAddress; at < relocations.VirtualAddress+relocations.Size; {
		page, size := word(at), word(at+4)
		if size < 8 {
			return nil, errors.New("its relocations are damaged")
		}
		for b := at + 8; b < at+size; b += 2 {
			if r := binary.LittleEndian.Uint16(i.data[b:]); r>>12 == dir64 {
				where := page + uint32(r&0xfff)
				i.pointers[uint64(where)] = binary.LittleEndian.Uint64(i.data[where:]) - header.ImageBase
			}
		}
		at += size
	}

	exports := header.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT].VirtualAddress
	functions, names, ordinals := word(exports+28), word(exports+32), word(exports+36)
	for n := range word(exports + 24) {
		if name := i.data[word(names+4*n):]; bytes.HasPrefix(name, []byte(exported+"\x00")) {
			ordinal := binary.LittleEndian.Uint16(i.data[ordinals+2*n:])
			i.exported = uint64(word(functions + 4*uint32(ordinal)))
			return i, nil
		}
	}
	return nil, fmt.Errorf("it does not export %s", exported)
}

// readELF lays out a library of Linux.
func readELF(file []byte) (*image, error) {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	relative, known := map[elf.Machine]uint32{
		elf.EM_X86_64: uint32(elf.R_X86_64_RELATIVE), elf.EM_AARCH64: uint32(elf.R_AARCH64_RELATIVE),
	}[f.Machine]
	if !known {
		return nil, fmt.Errorf("it is for %v, expected amd64 or arm64", f.Machine)
	}
	i := &image{pointers: map[uint64]uint64{}}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err != nil {
			return nil, err
		}
		i.add(p.Vaddr, p.Memsz, data, p.Flags&elf.PF_X != 0, p.Flags&elf.PF_W != 0)
	}
	relocations, err := f.Section(".rela.dyn").Data()
	if err != nil {
		return nil, err
	}
	for ; len(relocations) >= 24; relocations = relocations[24:] {
		if uint32(binary.LittleEndian.Uint64(relocations[8:])) == relative {
			i.pointers[binary.LittleEndian.Uint64(relocations)] = binary.LittleEndian.Uint64(relocations[16:])
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if s.Name == exported && s.Section != elf.SHN_UNDEF {
			i.exported = s.Value
			return i, nil
		}
	}
	return nil, fmt.Errorf("it does not export %s", exported)
}
