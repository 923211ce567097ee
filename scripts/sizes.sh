#!/bin/sh
# Prints what gobench is made of: megabytes of symbols (code and data) by module, and the
# size of the binary with and without its debug information.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 $go build -trimpath -o "$dir/whole" .
CGO_ENABLED=0 $go build -trimpath -ldflags '-s -w' -o "$dir/stripped" .
$go version -m "$dir/whole" | awk '$1 == "dep" { print $2 }' >"$dir/modules"
$go tool nm -size "$dir/whole" | awk -v modules="$dir/modules" '
BEGIN { while ((getline m < modules) > 0) mods[m] = 1 }
$4 == "crypto/internal/fips140/drbg.memory" { next } # 32 MB of zeros, which take no room in the file
$3 !~ /^[bBU]$/ {
	name = $4
	for (i = 5; i <= NF; i++) name = name " " $i
	sub(/^(type:|go:itab\.|go:)[.*]*/, "", name)
	gsub(/%2e/, ".", name)
	of = "the standard library, runtime"
	if (index(name, "gobench-io/gobench") || name ~ /^main\./) of = "gobench itself"
	else for (m in mods) if (index(name, m) == 1 && (of ~ /^the/ || length(m) > length(of))) of = m
	size[of] += $2
}
END { for (of in size) printf "%.1f MB\t%s\n", size[of] / 1e6, of }' | sort -rn | head -"${1:-12}"
ls -l "$dir/whole" "$dir/stripped" | awk '{ n = split($NF, p, "/"); printf "%.1f MB\tthe binary, %s\n", $5 / 1e6, p[n] }'
