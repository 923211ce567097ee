package main

import "embed"

// sdk is the source code that scenarios are compiled against: clients, dis,
// executor and the internal packages these import. It travels in the binary, so
// that an installed gobench compiles scenarios of exactly its own version, offline.
// TestSDK says when a directory is missing here.
//
//go:embed clients dis executor internal/builtin internal/load internal/measure/delay internal/measure/hdr internal/measure/health internal/measure/merge/*.go internal/measure/meter internal/measure/transcript internal/run/*.go internal/run/redact internal/run/segment internal/run/units internal/run/uuid internal/run/version internal/wire/*.go
var sdk embed.FS
