#!/usr/bin/env bash
# usage: scripts/ui.sh [deps|check]
#
# Builds ui/dist from ui/src. deps installs only what that and the tests need, at the
# versions of ui/package-lock.json; check fails where the types are wrong or ui/dist
# is not what ui/src makes.
set -eu
cd "$(dirname "$0")/../ui"

[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || { echo "ui needs Node.js 20 or newer, this is $(node --version): https://nodejs.org" >&2; exit 1; }
stamp=node_modules/.package-lock.sum
if [ "$(cat $stamp 2>/dev/null)" != "$(cksum <package-lock.json)" ]; then
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null
	cksum <package-lock.json >$stamp
fi

case ${1-} in
deps) ;;
check)
	node_modules/.bin/tsc
	new=$(mktemp -d)
	trap 'rm -rf "$new"' EXIT
	node build.mjs "$new"
	diff -r "$new" dist >/dev/null || { echo "ui/dist is not what ui/src makes: run make ui" >&2; exit 1; }
	;;
*) node build.mjs ;;
esac
