module tessera

go 1.25
