# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the tests of `rig5 run` share. Source it with the build directory as first argument.

build=$1
rig5=$build/rig5
work=$(mktemp -d)
failures=0
# So that the trees of these runs are told from others'.
export XDG_RUNTIME_DIR=$work/runtime
mkdir "$XDG_RUNTIME_DIR"

# The libraries and programs of another release of rdma-core, built in that folder, in place of the
# system's.
if [[ -n ${RIG5_RDMA_CORE:-} ]]; then
	export PATH=$RIG5_RDMA_CORE/bin:$PATH LD_LIBRARY_PATH=$RIG5_RDMA_CORE/lib
fi

clean_up() {
	local job
	for job in $(jobs -p); do
		kill -9 "$job" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$work"
}
trap clean_up EXIT

# need <program>... - the test is skipped where one is missing.
need() {
	local program
	for program; do
		command -v "$program" >/dev/null && continue
		echo "skipped: there is no $program"
		exit 77
	done
}

fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# free_port - a TCP port that nobody listens on.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}

# await_listener <port> - until somebody listens there.
await_listener() {
	local hex i
	hex=$(printf ':%04X ' "$1")
	for ((i = 0; i < 200; i++)); do
		"${server_at[@]}" cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
			grep -qs "^ *[0-9]*: [0-9A-F]*$hex[0-9A-F]*:0000 0A" && return 0
		sleep 0.05
	done
	echo "nobody listens on port $1"
	return 1
}

# trees - the folders of runs that are there.
trees() {
	find "$XDG_RUNTIME_DIR" -maxdepth 1 -name 'rig5-run-*' | sort
}

# no_trees - fails the test if a tree is left; keepers get their time.
no_trees() {
	local i
	for ((i = 0; i < 200; i++)); do
		[[ -z $(trees) ]] && return
		sleep 0.05
	done
	fail "left behind: $(trees)"
}

# pair <program> [option]... - the program as server and as client, each with its own run;
# $run_options stand before the program, and $server_options or $client_options before those.
# Output in $work/server and $work/client; whether both ended well. $port_option is how the program
# takes the TCP port, and $client_port_option, if set, how the client does; $server_at and
# $client_at are commands that run another (as in a network namespace), $server_address is where the
# client finds the server. Each end may take $pair_seconds.
run_options=()
server_options=()
client_options=()
server_at=()
client_at=()
server_address=127.0.0.1
port_option=-p
client_port_option=
pair_seconds=60
pair() {
	local port server status
	port=$(free_port)
	timeout $pair_seconds "${server_at[@]}" \
		"$rig5" run "${server_options[@]}" "${run_options[@]}" -- \
		"$@" "$port_option" "$port" >"$work/server" 2>&1 &
	server=$!
	await_listener "$port" || return 1
	timeout $pair_seconds "${client_at[@]}" \
		"$rig5" run "${client_options[@]}" "${run_options[@]}" -- \
		"$@" "${client_port_option:-$port_option}" "$port" "$server_address" \
		>"$work/client" 2>&1
	status=$?
	((status == 0)) || kill "$server" 2>/dev/null # which would wait for its client
	wait "$server" || status=1
	return "$status"
}

# try <name> <command>... - one line a test; what a pair said if it fails.
try() {
	local name=$1
	shift
	if "$@"; then
		echo "ok: $name"
	else
		fail "$name"
		tail -n 20 "$work/server" "$work/client" 2>/dev/null
	fi
}

# rows <words before the name> - the lines of standard input, each a program with its options.
rows() {
	local program options
	while read -r program options; do
		# shellcheck disable=SC2086
		try "$1$program $options" pair "$program" $options </dev/null
	done
}

finish() {
	exit $((failures != 0))
}
