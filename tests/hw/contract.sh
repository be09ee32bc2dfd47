#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The library's own tests of its contract, against a real adapter: RIG5_TEST_NIC names one.
# Without it: skipped. What only the software NIC can show (its counters) skips itself there.
set -u

build=$1
[[ -n ${RIG5_TEST_NIC:-} ]] || exit 77
export RIG5_TEST_ON=$RIG5_TEST_NIC
failed=0
for test in unit.lib_soft_qp unit.lib_soft_data proc.pairs proc.threads proc.fork proc.events; do
	echo "== $test on $RIG5_TEST_NIC"
	"$build/tests/$test" || failed=1
done
exit $failed
