# SPDX-License-Identifier: BSD-2-Clause
"""Shows that a program on the library and Linux's Soft-RoCE understand each other over UDP sockets.
By booting Debian's kernel in QEMU with a tap device for its network card, in a network namespace
that nobody else sees and that ends with this test, and running tests/interop_udp_rows there.

    udp.py <build directory> [-v] [part of a row's name]
"""
import sys
import time

import _guest
import _tap

BOOT_S = 90
ROWS_S = 240


def inside(build):
    folder = f"{build}/interop/udp"
    part = [a for a in sys.argv[2:] if a != "-v"]
    start = time.monotonic()
    with _guest.Guest(f"{build}/interop", folder, tap="tap0") as guest:
        guest.wait_ready(BOOT_S)
        print(f"the guest is up after {time.monotonic() - start:.1f} s", flush=True)
        status = _guest.watch([f"{build}/tests/interop_udp_rows", folder, *part], ROWS_S,
                              "-v" in sys.argv,
                              {"RIG5_SOFT": "ipv4,addr=10.77.0.1;ipv6,addr=fd77::1"})
        if "invalid data" in guest.console():
            print("ibv_rc_pingpong -c found wrong data")
            status = 1
        if status != 0:
            print(guest.console())
    print(f"done after {time.monotonic() - start:.1f} s")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(_tap.main(inside))
