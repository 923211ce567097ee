#!/bin/sh
# Checks that gobench compiles where it claims to: scripts/platforms.sh vet|build
#   vet    go vet for each operating system but Linux, on amd64 (make lint, which vets Linux with its tests)
#   build  go build for each operating system, on amd64 and arm64 (make test-long)
# Tests run on Linux only, so elsewhere vet leaves test files out.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
case "${1:-}" in
vet) systems="darwin freebsd windows" archs="amd64" ;;
build) systems="linux darwin freebsd windows" archs="amd64 arm64" ;;
*) echo "usage: scripts/platforms.sh vet|build" >&2; exit 2 ;;
esac
overlay=$(mktemp)
trap 'rm -f "$overlay"' EXIT
{
	echo '{"Replace":{'
	git ls-files -co --exclude-standard '*_test.go' | sed -e "s|^|\"$PWD/|" -e 's|$|":"",|' -e '$s|,$||'
	echo '}}'
} >"$overlay"
failed=0
for os in $systems; do
	for arch in $archs; do
		began=$(date +%s)
		status=ok
		case "$1:$os" in
		vet:*) GOOS=$os GOARCH=$arch CGO_ENABLED=0 $go vet -overlay "$overlay" ./... || status=FAILED ;;
		build:*) GOOS=$os GOARCH=$arch CGO_ENABLED=0 $go build ./... || status=FAILED ;;
		esac
		[ "$status" = ok ] || failed=1
		echo "$1 $os/$arch: $status ($(($(date +%s) - began)) s)"
	done
done
exit $failed
