#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows that libfabric's verbs provider runs on the software NIC: it lists the NIC's datagram
# endpoints, and moves data over them and over the reliable datagrams that it builds upon them.
# By fi_info, and fi_pingpong with its check of the data, in pairs under `rig5 run`.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need fi_info fi_pingpong
unset "${!FI_@}"

listed() {
	: >"$work/server"
	"$rig5" run "${run_options[@]}" -- fi_info -p verbs >"$work/client" 2>&1 &&
		grep -A3 '^ *domain: mlx5_0-dgram$' "$work/client" | grep -q 'type: FI_EP_DGRAM$'
}

# Message endpoints need a connection manager, which is not there: none are listed.
no_message_endpoints() {
	: >"$work/server"
	! "$rig5" run "${run_options[@]}" -- fi_info -p verbs -t FI_EP_MSG >"$work/client" 2>&1
}

port_option=-B
client_port_option=-P
# pingpong <option>... - the table of sizes is there.
pingpong() {
	pair fi_pingpong -c "$@" && ! grep -i error "$work/server" "$work/client" &&
		grep -q '^4k ' "$work/client"
}

try "fi_info -p verbs" listed
try "fi_pingpong -e dgram" pingpong -p verbs -e dgram
try "fi_pingpong -e dgram, 300 of 1000 bytes" pair fi_pingpong -c -p verbs -e dgram -I 300 -S 1000
try "fi_pingpong -e rdm" pingpong -p 'verbs;ofi_rxd' -e rdm -I 3
try "no message endpoints" no_message_endpoints
run_options=(--nic ll=ib,lid=79)
try "fi_info -p verbs, InfiniBand" listed
try "fi_pingpong -e dgram, InfiniBand" pingpong -p verbs -e dgram
no_trees
finish
