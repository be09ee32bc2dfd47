#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that a program finds the software NIC, by the names and with the properties that were asked
# for. By comparing what ibv_devices, ibv_devinfo and sysfs say with the options.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ibv_devices ibv_devinfo

# says <pattern> <command>...
says() {
	local pattern=$1
	shift
	timeout 30 "$@" >"$work/client" 2>&1 && grep -Eq -- "$pattern" "$work/client"
}

try "ibv_devices lists mlx5_0" says '^ *mlx5_0[[:space:]]+[0-9a-f]{16}$' "$rig5" run -- ibv_devices
try "ibv_devinfo describes it" says 'PORT_ACTIVE' "$rig5" run -- ibv_devinfo -v
finish
