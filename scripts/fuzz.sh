#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME each, one after the other.
set -eu
cd "$(dirname "$0")/.."
: "${FUZZTIME:=30s}"
found=
while IFS=: read -r file target; do
	found=yes
	echo "== $(dirname "$file") $target"
	go test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 1s -fuzztime "$FUZZTIME" "./$(dirname "$file")" </dev/null
done < <(grep -rHoE --include='*_test.go' --exclude-dir=node_modules --exclude-dir=testdata \
	'^func Fuzz[A-Za-z0-9_]*' . | sed 's|^\./||; s|:func |:|' | sort)
[ -n "$found" ] || echo "no fuzz targets"
