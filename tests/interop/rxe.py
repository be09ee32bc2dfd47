# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the software NIC and Linux's Soft-RoCE understand each other, in both roles. By booting
Debian's kernel in QEMU, without privilege: its network card's frames are datagrams of a socket that
tests/interop_rxe_rows holds, the program with the table. See docs/CONFORMANCE.md.

    rxe.py <build directory> [-v] [part of a row's name]
"""
import os
import subprocess
import sys
import time

import _guest

SKIPPED = 77
BOOT_S = 90
ROWS_S = 240


def show(output, verbose):
    """What cmocka says: all of it, or what is not a good row."""
    for line in output:
        if verbose or not line.startswith(("[ RUN      ]", "[       OK ]")):
            print(line, end="", flush=True)


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
    with _guest.Guest(cache, folder) as guest:
        guest.wait_ready(BOOT_S)
        print(f"the guest is up after {time.monotonic() - start:.1f} s", flush=True)
        with subprocess.Popen([f"{build}/tests/interop_rxe_rows", folder, *part], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              preexec_fn=_guest.die_with_parent) as rows:
            show(rows.stdout, verbose)
            status = rows.wait(timeout=ROWS_S)
        if status != 0:
            print(guest.console())
    print(f"done after {time.monotonic() - start:.1f} s")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
