#!/usr/bin/env bash
# Fails when a Go file is not formatted. Left out are only files that are not
# ours: scenarios in testdata stay byte for byte as their authors printed them.
set -eu
cd "$(dirname "$0")/.."
bad=$(find . \( -name .git -o -name .bin -o -name node_modules -o -name testdata \) -prune -o \
	-name '*.go' -type f -print0 | xargs -0 -r gofmt -l)
if [ -n "$bad" ]; then
	printf 'not formatted; run gofmt -w on:\n%s\n' "$bad" >&2
	exit 1
fi
