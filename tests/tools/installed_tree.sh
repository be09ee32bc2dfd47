#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that `make install` gives a whole tree and no more: one header that stands alone in C and
# C++, both libraries with what pkg-config says of them, the command, each man page. By installing
# into a temporary prefix and building a program in each way.
set -u
. "$RIG5_SOURCE_DIR/tests/tools/_install.sh"
failed=0

fail() {
	echo "$*"
	failed=1
}

# 1. The files: these and no other.
lib=$(realpath --relative-to="$prefix" "$libdir")
version=$(pkg-config --modversion rig5)
{
	echo bin/rig5
	echo include/rig5.h
	echo include/rig5_stats.h
	echo "$lib/librig5.a"
	echo "$lib/librig5.so"
	echo "$lib/librig5.so.0"
	echo "$lib/librig5.so.$version"
	echo "$lib/librig5_mlx5dv.so"
	echo "$lib/librig5_shim.so"
	echo "$lib/pkgconfig/rig5.pc"
	for page in "$RIG5_SOURCE_DIR"/docs/man/*.[137]; do
		[[ -e $page ]] && echo "share/man/man${page##*.}/${page##*/}"
	done
} | sort >"$work/expected"
(cd "$prefix" && find . ! -type d -printf '%P\n') | sort >"$work/installed"
diff "$work/expected" "$work/installed" || fail "< is missing, > should not be there"
[[ -e $prefix/share/man/man1/rig5.1 ]] || fail "no man page of the command"

# 2. The header, alone and strict.
echo '#include <rig5.h>' >"$work/alone.c"
include=$(pkg-config --cflags rig5)
cc -std=c11 -pedantic -Wall -Wextra -Werror $include -fsyntax-only "$work/alone.c" ||
	fail "the header does not compile alone in C11"
c++ -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror $include -fsyntax-only "$work/alone.c" ||
	fail "the header does not compile alone in C++11"

# 3. A program on the shared library, one on the archive, and one with no shared library at all.
cat >"$work/use.c" <<'END'
#include <rig5.h>
int main(void)
{
	char names[4][RIG_NAME_MAX];

	return rig_names(names, 4) < 0 || rig_error() == NULL;
}
END
try() {
	local name=$1
	shift
	if ! "${cc[@]}" $include "$work/use.c" "$@" -o "$work/use"; then
		fail "$name: does not link"
	elif ! "$work/use"; then
		fail "$name: does not run"
	fi
}
try shared $(pkg-config --libs rig5)
readelf -d "$work/use" | grep -q 'NEEDED.*librig5\.so\.0]' || fail "the soname is not librig5.so.0"
rm "$libdir"/librig5.so*
try archive $(pkg-config --static --libs rig5)
[[ -n $RIG5_SANITIZE ]] || try static -static $(pkg-config --static --libs rig5)

# 4. Nothing at run time but libc.
if [[ -z $RIG5_SANITIZE ]]; then
	needed=$(readelf -d "$RIG5_BUILD_DIR/librig5.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -v -e '^libc\.so\.6$' -e '^ld-linux')
	[[ -z $needed ]] || fail "librig5.so needs $needed"
fi
exit $failed
