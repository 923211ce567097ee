#!/usr/bin/env bash
# usage: scripts/debian.sh COMMAND:PACKAGE...
#
# Installs the Debian package of each command that is missing; a COMMAND that
# begins with / is a file to look for instead. Does nothing, and asks for
# nothing, when all are there. A person at a terminal is asked first.
#
# Packages that bring a service do not start it, now or at the next boot: our
# tests start their own servers, on free ports.
set -eu

PATH=$PATH:/usr/sbin:/sbin # where servers live; not on every user's PATH
here() { case $1 in /*) [ -e "$1" ] ;; *) command -v "$1" >/dev/null ;; esac; }

missing=() packages=()
for pair in "$@"; do
	here "${pair%%:*}" || { missing+=("${pair%%:*}"); packages+=("${pair#*:}"); }
done
[ "${#missing[@]}" -gt 0 ] || exit 0

die() {
	printf '%s: %s\n' "$(basename "$0")" "$1" >&2
	printf 'Missing: %s\nOn Debian and Ubuntu: apt-get install %s\n' "${missing[*]}" "${packages[*]}" >&2
	exit 1
}

command -v apt-get >/dev/null || die "this system has no apt-get; install what is missing by hand"

root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || die "installing needs root, and there is no sudo"
	root=(sudo)
fi
if [ -t 0 ] && [ -t 1 ]; then
	read -r -p "Install ${packages[*]} with apt-get? [y/N] " answer
	case $answer in [yY]*) ;; *) die "not installed" ;; esac
elif [ "${#root[@]}" -gt 0 ]; then
	root=(sudo -n) # nobody is there to type a password
	"${root[@]}" true 2>/dev/null || die "installing needs root, and sudo asks for a password"
fi
root+=(env DEBIAN_FRONTEND=noninteractive)

# Debian starts a service as it installs it, unless this file says no. It is
# taken away again; one that the machine already has is left alone.
policy=/usr/sbin/policy-rc.d
if ! [ -e $policy ]; then
	trap '"${root[@]}" rm -f $policy' EXIT
	trap 'exit 1' HUP INT TERM
	"${root[@]}" sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
fi

units() { find /lib/systemd/system -maxdepth 1 -name '*.service' -printf '%f\n' 2>/dev/null | sort; }
before=$(units)
"${root[@]}" apt-get update -qq </dev/null || echo "apt-get update failed; going on with the package lists that are here" >&2
"${root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null ||
	die "apt-get install ${packages[*]} did not work"

# Nor at the next boot: the services that came just now.
if command -v systemctl >/dev/null; then
	for unit in $(comm -13 <(echo "$before") <(units)); do
		"${root[@]}" systemctl disable --quiet "$unit" </dev/null 2>/dev/null || true
	done
fi

for pair in "$@"; do
	here "${pair%%:*}" || die "${pair%%:*} is still missing after the installation of ${pair#*:}"
done
