#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that the program `sim` gives the same trace for the same seed, that a failing seed prints a
# command, and that this command shows the same failure. By running it, failures made by sabotage.
set -u

sim=$1/sim
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

die()
{
	echo "$*"
	exit 1
}

"$sim" --seed 5 --trace >"$folder/first" || die "seed 5 fails"
"$sim" --seed 5 --trace >"$folder/second" || die "seed 5 fails the second time"
cmp "$folder/first" "$folder/second" || die "the traces differ"
(($(wc -l <"$folder/first") > 500)) || die "the trace is short"
grep -q ' tx RC_' "$folder/first" || die "the trace has no packets"
"$sim" --seed 5 | grep -q "$(tail -1 "$folder/first" | grep -o 'digest [0-9a-f]*')" ||
	die "the digest differs without a trace"

"$sim" --seed 7 --sabotage cqe_twice >"$folder/failure" && die "the sabotage is not noticed"
again=$(sed -n 's/^again: make sim //p' "$folder/failure")
[[ -n $again ]] || die "no command is printed"
[[ $again =~ ^SEED=([0-9]+)\ SIMFLAGS=\'(.*)\'$ ]] || die "what is printed: $again"
read -ra flags <<<"${BASH_REMATCH[2]}"
"$sim" --seed "${BASH_REMATCH[1]}" "${flags[@]}" >"$folder/again" && die "it fails no more"
cmp "$folder/failure" "$folder/again" || die "another failure"

"$sim" --seed 7 --messages --sabotage cqe_twice >"$folder/failure" && die "not noticed of messages"
grep -q "^again: make sim SEED=7 SIMFLAGS='--messages --sabotage CQE_TWICE'$" "$folder/failure" ||
	die "the command for messages"

"$sim" --seed x 2>"$folder/usage"
[[ $? == 2 ]] || die "a seed that is no number"
"$sim" --sabotage x 2>"$folder/usage"
[[ $? == 2 ]] || die "a sabotage that is none"
"$sim" --help | grep -q -- '--trace' || die "no help"
