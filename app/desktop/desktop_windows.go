package desktop

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"golang.org/x/sys/windows"
)

// Started reports whether the program was started by a double click or by dragging a file
// onto it. Its console closes when it ends.
func Started() bool {
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

// OpenPage opens the page in the program for http, the browser; the program for .html may
// be an editor. Windows hides a command line from other users, so url can be an argument.
func OpenPage(url string) (remove func(), err error) {
	remove = func() {}
	verb, err := windows.UTF16PtrFromString("open")
	if err != nil {
		return remove, err
	}
	address, err := windows.UTF16PtrFromString(url)
	if err != nil {
		return remove, err
	}
	if err := windows.ShellExecute(0, verb, address, nil, nil, windows.SW_SHOWNORMAL); err != nil {
		return remove, fmt.Errorf("serve: %w", err)
	}
	return remove, nil
}
