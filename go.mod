module tessera

go 1.26.0

require (
	github.com/ebitengine/purego v0.11.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/image v0.47.0 // indirect
)
