package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"golang.org/x/sys/windows"
)

// fromDesktop reports whether the program was started by a double click or by
// dragging a file onto it: its console then closes with it.
func fromDesktop() bool {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return false
	}
	defer windows.CloseHandle(snapshot)
	entry := &windows.ProcessEntry32{}
	entry.Size = uint32(reflect.TypeOf(*entry).Size())
	for err = windows.Process32First(snapshot, entry); err == nil; err = windows.Process32Next(snapshot, entry) {
		if entry.ProcessID == uint32(os.Getppid()) {
			return strings.EqualFold(windows.UTF16ToString(entry.ExeFile[:]), "explorer.exe")
		}
	}
	return false
}

// browse opens a file in the user's browser.
func browse(path string) error {
	verb, err := windows.UTF16PtrFromString("open")
	if err != nil {
		return err
	}
	file, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	if err := windows.ShellExecute(0, verb, file, nil, nil, windows.SW_SHOWNORMAL); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
