// Package desktop connects the program to the user's desktop. Started reports whether it
// was started by a double click or by a file dragged onto it. OpenPage opens the page in
// the user's browser. KeepModel remembers the path of a checkpoint for latents that are
// dragged alone, and Model returns it; nothing else is remembered.
//
// The page's address contains a token. Other users of the machine can see a program's
// arguments, so the browser gets the name of a file that only this user can read, except
// on Windows, where they cannot.
package desktop
