#!/usr/bin/env bash
# Installs what the tests need beside Go: a C compiler for the race detector,
# the real servers and tools that clients are tested against, and the browser that
# opens reports.
set -eu
exec "$(dirname "$0")/debian.sh" \
	gcc:gcc /usr/include/stdlib.h:libc6-dev \
	nginx:nginx-light jq:jq \
	ss:iproute2 \
	pg_ctlcluster:postgresql strace:strace \
	node:nodejs npm:npm /usr/bin/chromium:chromium
