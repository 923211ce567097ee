#!/usr/bin/env bash
# Runs the example scenario for ten seconds against gobench's own target server,
# on a free port, and ends with the run's report and exit code.
set -eu
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
./gobench target http --addr 127.0.0.1:0 >"$dir/log" 2>&1 </dev/null &
echo $! >"$dir/pid"
stop() {
	kill "$(cat "$dir/pid")" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

# The server says where it listens.
url=
for _ in $(seq 100); do
	url=$(grep -oE -m1 'http://[0-9.:]+' "$dir/log" || true)
	[ -z "$url" ] || break
	if ! kill -0 "$(cat "$dir/pid")" 2>/dev/null; then break; fi
	sleep 0.1
done
if [ -z "$url" ]; then
	echo "demo: gobench target http did not start:" >&2
	cat "$dir/log" >&2
	exit 1
fi

echo "./gobench run examples/http/scenario.go --set url=$url --duration 10s"
./gobench run examples/http/scenario.go --set "url=$url" --duration 10s
