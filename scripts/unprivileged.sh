#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# unprivileged.sh <build directory> [ctest option]... - the tests that use more than one thread or
# process once more, those of unmodified programs among them, as nobody, with process_vm_* and
# userfaultfd refused (tests/proc/deny.c), and as in a container: in mount and network namespaces of
# their own, with a /dev/shm that nobody else sees. Whoever is not root becomes root of a user
# namespace for it, and oneself again.
#
# In a directory of its own: nobody may not write in the build directory, which is why
# the tests that install are left out. Exit status 1 if a test fails; 77 if nobody may not read the
# build, or there are no namespaces.
set -u

build=$(cd "${1:?usage: unprivileged.sh <build directory> [ctest option]...}" && pwd) || exit 1
shift
deny=$build/tests/deny

as_root=() as_before=()
if ((EUID != 0)); then
	as_root=(--user --map-root-user)
	as_before=(unshare --user "--map-user=$(id -u)" "--map-group=$(id -g)")
fi
# contained <command>... - in the namespaces, as nobody.
contained() {
	# shellcheck disable=SC2016
	unshare "${as_root[@]}" --mount --net sh -c '
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm && ip link set lo up || exit 77
		for file in server client; do # that perftest leaves behind, as another user perhaps
			file=/tmp/xrc_domain_$file
			! test -e $file || mount --bind "$TMPDIR/xrc" $file || exit 77
		done
		exec "$@"' sh "${as_before[@]}" "$deny" "$@"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 777 "$work"
export TMPDIR=$work HOME=$work PATH=$PATH:/usr/sbin # where ip(8) is
echo "subdirs(\"$build/tests\")" >"$work/CTestTestfile.cmake"
: >"$work/xrc"
chmod 666 "$work/xrc"
cd "$work" || exit 1

if ! contained true; then
	echo "No mount and network namespaces here: the unprivileged run is skipped"
	exit 77
fi
if ! contained test -x "$deny"; then
	echo "Nobody may not read $build: the unprivileged run is skipped"
	exit 77
fi
# shellcheck disable=SC2016
if ! contained sh -c 'test -z "$(ls -A /dev/shm)" && test "$(readlink /proc/self/ns/net)" != "$1"' \
	sh "$(readlink /proc/self/ns/net)"; then
	echo "FAILED: somebody else's /dev/shm or network"
	exit 1
fi
contained ctest --output-on-failure --no-label-summary --no-tests=error -j 2 \
	-L '^(unit|proc|tools|run)$' -LE '^long$' \
	-E '^(tools\.(installed_tree|readme_example)|unit\.(abi|base|fault|nic|kern)_.*)$' "$@" </dev/null
