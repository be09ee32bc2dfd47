#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that every program of examples/ does what it says. By running it: exit status 0.
set -u

failed=0
for source in "$RIG5_SOURCE_DIR"/examples/*.c; do
	name=$(basename "$source" .c)
	if ! timeout 20 "$RIG5_BUILD_DIR/examples/$name"; then
		echo "FAILED: $name"
		failed=1
	fi
done
exit $failed
