//go:build !linux

package bench

func turnsNow() turns { return turns{} }
