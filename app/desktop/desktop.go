// Package desktop is the program among the user's windows: Started reports whether it was
// started by a double click or by a file dragged onto it, and OpenPage opens the page in
// the user's browser. KeepModel keeps the path of a checkpoint for latents that are dragged
// alone, and Model returns it; nothing else is kept.
//
// The page's address holds a token. Other users of the machine see what is in a program's
// arguments, so the browser gets the name of a file that only this user can read, except
// on Windows, where they do not.
package desktop
