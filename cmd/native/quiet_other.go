//go:build !linux && !windows

package main

// passer is Linux's; see quiet_linux.go.
func passer() bool { return false }

// quietly runs f; see chatter.go.
func quietly(f func()) { f() }
