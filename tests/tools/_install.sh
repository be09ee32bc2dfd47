# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# To be sourced: installs the build into a temporary prefix, moves the tree (it must not know where
# it was put), and sets prefix, libdir, PKG_CONFIG_PATH, LD_LIBRARY_PATH and cc.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved

if ! cmake --install "$RIG5_BUILD_DIR" --prefix "$work/first" >"$work/install.log" 2>&1; then
	cat "$work/install.log"
	exit 1
fi
mv "$work/first" "$prefix"
pc=$(find "$prefix" -name rig5.pc)
if [[ -z $pc ]]; then
	echo "no rig5.pc was installed"
	exit 1
fi
export PKG_CONFIG_PATH=${pc%/rig5.pc}
libdir=$(pkg-config --variable=libdir rig5)
export LD_LIBRARY_PATH=$libdir

cc=(cc -Wall -Wextra -Werror -O2)
[[ -n $RIG5_SANITIZE ]] && cc+=("-fsanitize=$RIG5_SANITIZE")
