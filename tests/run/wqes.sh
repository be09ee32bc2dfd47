#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that the recorded work queue entries (tests/golden/wqe/libmlx5-44.txt) are what libmlx5
# writes. By recording them anew (record_wqes.c) and comparing. `tests/run/wqes.sh <build directory>
# --write` stores them instead.
set -u
: "${RIG5_SOURCE_DIR:=$(realpath "$(dirname "$0")/../..")}"
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
record=$build/tests/run_record_wqes
golden=$RIG5_SOURCE_DIR/tests/golden/wqe/libmlx5-44.txt
[[ -x $record ]] || { echo "skipped: built without libibverbs"; exit 77; }
library=$(ldd "$record" | sed -n 's/.*libmlx5\.so\.1 => \([^ ]*\).*/\1/p')
library=$(realpath "$library")
[[ $library == *.44.0 ]] || { echo "skipped: libmlx5 is $library, not that of 44.0"; exit 77; }

{
	echo "# Made by wqes.sh --write, with libmlx5 of Debian's rdma-core 44.0-2 on x86-64."
	echo "# What it means: tests/run/record_wqes.c. A byte 5a was not written."
	timeout 60 "$rig5" run --nic addr=127.84.1.1 -- "$record" || fail "the recorder ends with $?"
} >"$work/recorded"
if [[ ${2-} == --write ]]; then
	((failures == 0)) && cp "$work/recorded" "$golden"
	finish
fi
diff "$golden" "$work/recorded" >"$work/differences" ||
	fail "libmlx5 writes other entries: $(head -n 20 "$work/differences")"
no_trees
finish
