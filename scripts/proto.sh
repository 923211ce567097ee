#!/usr/bin/env bash
# usage: scripts/proto.sh PROTOC_GEN_GO PROTOC_GEN_GO_GRPC
# Writes the Go code of each .proto file beside it.
set -eu
cd "$(dirname "$0")/.."
scripts/debian.sh protoc:protobuf-compiler
mapfile -t files < <(find . \( -name .git -o -name node_modules -o -name testdata \) -prune -o \
	-name '*.proto' -type f -printf '%P\n' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "no .proto files"; exit 0; }
protoc --plugin=protoc-gen-go="$1" --plugin=protoc-gen-go-grpc="$2" -I . \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative "${files[@]}"
