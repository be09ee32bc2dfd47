# SPDX-License-Identifier: BSD-2-Clause
"""Shows that a program on the library and Linux's Soft-RoCE understand each other over UDP sockets.
By booting Debian's kernel in QEMU with a tap device for its network card, in a network namespace
that nobody else sees and that ends with this test, and running tests/interop_udp_rows there.

    udp.py <build directory> [-v] [part of a row's name]
"""
import os
import shutil
import subprocess
import sys
import time

import _guest

SKIPPED = 77
BOOT_S = 90
ROWS_S = 240
INSIDE = "RIG5_INTEROP_INSIDE"


def namespace():
    """The command that runs another in a network namespace of its own, or Unavailable."""
    commands = [["unshare", "--net"], ["unshare", "--net", "--map-root-user"]]
    if not shutil.which("unshare"):
        raise _guest.Unavailable("there is no unshare here, for a network namespace")
    for command in commands:
        tried = subprocess.run([*command, "test", "-w", "/dev/net/tun"], capture_output=True)
        if tried.returncode == 0:
            return command
    raise _guest.Unavailable("a network namespace and a tap device take root here")


def make_network(cache):
    """The host's end of the cable, 10.77.0.1 and fd77::1, with the guest's own ip program."""
    root = f"{cache}/root"
    ip = [_guest.loader(root), "--library-path", _guest.library_folder(root),
          _guest.first_of(root, _guest.PROGRAMS["sbin/ip"])]
    for words in ("link set lo up", "tuntap add tap0 mode tap", "link set tap0 mtu 4500",
                  "address add 10.77.0.1/24 dev tap0", "address add fd77::1/64 dev tap0 nodad",
                  "link set tap0 up"):
        _guest.run(*ip, *words.split())


def inside(build, verbose, part):
    cache, folder = f"{build}/interop", f"{build}/interop/udp"
    start = time.monotonic()
    make_network(cache)
    with _guest.Guest(cache, folder, tap="tap0") as guest:
        guest.wait_ready(BOOT_S)
        print(f"the guest is up after {time.monotonic() - start:.1f} s", flush=True)
        status = _guest.watch([f"{build}/tests/interop_udp_rows", folder, *part], ROWS_S, verbose,
                              {"RIG5_SOFT": "ipv4,addr=10.77.0.1;ipv6,addr=fd77::1"})
        if "invalid data" in guest.console():
            print("ibv_rc_pingpong -c found wrong data")
            status = 1
        if status != 0:
            print(guest.console())
    print(f"done after {time.monotonic() - start:.1f} s")
    return 1 if status else 0


def main():
    build = os.path.abspath(sys.argv[1])
    part = [a for a in sys.argv[2:] if a != "-v"]
    if INSIDE in os.environ:
        return inside(build, "-v" in sys.argv, part)
    try:
        _guest.prepare(f"{build}/interop", f"{build}/tests/interop_agent")
        command = namespace()
    except _guest.Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    return subprocess.run([*command, sys.executable, *sys.argv], stdin=subprocess.DEVNULL,
                          env=dict(os.environ, **{INSIDE: "1"}),
                          preexec_fn=_guest.die_with_parent).returncode


if __name__ == "__main__":
    sys.exit(main())
