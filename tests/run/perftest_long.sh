#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows what perftest.sh, datagrams_long.sh and srq.sh show, in all combinations: each tool over each
# service that it has, with each option that it has, on the local wire and, all sizes, over UDP. By
# running both ends, each under `rig5 run`. A report of a size alone takes each end 0.2 s, in which
# perftest measures the processor's clock.
set -u
# shellcheck source=tests/run/_run.sh
. "$RIG5_SOURCE_DIR/tests/run/_run.sh"
need ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat
pair_seconds=240

# services <operation> - that perftest has it over.
services() {
	case $1 in
	send) echo RC UC UD XRC ;;
	write) echo RC UC XRC ;;
	*) echo RC XRC ;;
	esac
}

# options <operation> <bw or lat> <service> - lines of options, one run each.
options() {
	local messages="-n 50" big="-s 4096"
	[[ $1 == atomic ]] && big=
	# Nothing makes up for a message that finds no receive.
	[[ $1$2 == sendbw ]] && messages+=" -r 400"
	echo "$messages $big"
	echo "$messages $big --use_old_post_send"
	if [[ $2 == bw ]]; then
		echo "$messages $big -b"
		echo "$messages $big -q 8"
		echo "$messages $big -q 8 -b -l 5"
	fi
	[[ $1 == write ]] || echo "$messages $big -e"
	[[ $1 == write || $1 == send ]] && echo "$messages -I 64 -s 64"
	[[ $1 == send && $3 != XRC ]] && echo "$messages $big --use-srq"
	[[ $1 == atomic ]] && echo "$messages -A CMP_AND_SWAP"
	[[ $1 == atomic ]] || echo "-n 5 -a"
	return 0
}

for operation in write read send atomic; do
	for kind in bw lat; do
		for service in $(services $operation); do
			options $operation $kind "$service" |
				sed "s/^/ib_${operation}_$kind -c $service /" >>"$work/rows"
		done
	done
done
rows '' <"$work/rows"
# Of an unreliable connection the last message may be lost, for which the tools wait.
# shellcheck disable=SC2034
server_options=(--nic addr=127.62.2.1) client_options=(--nic addr=127.62.2.2)
grep -e ' -a$' "$work/rows" | grep -v ' UC ' >"$work/all"
rows 'UDP: ' <"$work/all"
no_trees
finish
