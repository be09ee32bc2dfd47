#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Two drivers, one NIC: libmlx5's ioctls and those of rig5's own library, field by field.
# shellcheck source=tests/run/_run.sh
source "$(dirname "$0")/_run.sh"

"$rig5" run -- "$build/tests/run_drivers" || fail "the drivers differ"
exit $((failures != 0))
