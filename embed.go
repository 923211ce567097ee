package main

import "embed"

// sdk is the source code that scenarios are compiled against: clients, dis,
// executor and the internal packages these import. It travels in the binary, so
// that an installed gobench compiles scenarios of exactly its own version, offline.
// TestSDK says when a directory is missing here.
//
//go:embed clients dis executor internal/allow internal/conn internal/deal internal/exchange internal/hdr internal/health internal/meter internal/preset internal/profile internal/redact internal/runner internal/template internal/version internal/wire
var sdk embed.FS
