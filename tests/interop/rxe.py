# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the software NIC and Linux's Soft-RoCE understand each other, in both roles. By booting
Debian's kernel in QEMU, without privilege: its network card's frames are datagrams of a socket that
tests/interop_rxe_rows holds, the program with the table. See docs/CONFORMANCE.md.

    rxe.py <build directory> [-v] [part of a row's name]
"""
import os
import sys
import time

import _guest

SKIPPED = 77
BOOT_S = 90
ROWS_S = 240


def main():
    build = os.path.abspath(sys.argv[1])
    verbose = "-v" in sys.argv
    part = [a for a in sys.argv[2:] if a != "-v"]
    cache, folder = f"{build}/interop", f"{build}/interop/rxe"
    start = time.monotonic()
    try:
        _guest.prepare(cache, f"{build}/tests/interop_agent")
    except _guest.Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    with _guest.Guest(cache, folder, words="spin") as guest:
        guest.wait_ready(BOOT_S)
        print(f"the guest is up after {time.monotonic() - start:.1f} s", flush=True)
        status = _guest.watch([f"{build}/tests/interop_rxe_rows", folder, *part], ROWS_S, verbose)
        if status != 0:
            print(guest.console())
    print(f"done after {time.monotonic() - start:.1f} s")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
