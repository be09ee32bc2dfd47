#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# install_packages.sh <package>... - installs those of the Debian packages that are missing.
#
# Silent where nothing is missing. Uses sudo when not root, and never asks for a password where
# nobody can answer (CI=true, or no terminal). Exit status 1 and one line when it cannot install.
set -u

missing=()
if ! command -v dpkg-query >/dev/null; then
	exit 0 # Not Debian: cmake names what it does not find.
fi
for package in "$@"; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)
	[[ $status == installed* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

cannot() {
	echo "rig5: cannot install ${missing[*]}: $1. As root: apt-get install ${missing[*]}" >&2
	exit 1
}

as_root=()
if (($(id -u) != 0)); then
	command -v sudo >/dev/null || cannot "not root, and there is no sudo"
	as_root=(sudo)
	if [[ ${CI:-} == true || ! -t 0 ]]; then
		as_root=(sudo -n)
		sudo -n true 2>/dev/null || cannot "sudo needs a password"
	fi
fi

apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
	apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120)

echo "Installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An update that fails is no reason to stop: the lists that are there may do.
"${apt[@]}" update </dev/null >"$log" 2>&1
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1; then
	tail -n 5 "$log" >&2
	cannot "apt-get failed"
fi
