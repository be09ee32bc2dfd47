# SPDX-License-Identifier: BSD-2-Clause
"""A network namespace that nobody else sees, with a tap device to which the guest's network card is
plugged: the host's end of the cable is 10.77.0.1 and fd77::1, the guest's 10.77.0.2 and fd77::2."""
import os
import shutil
import subprocess
import sys

import _guest

SKIPPED = 77
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
    """The host's end of the cable, with the guest's own ip program."""
    root = f"{cache}/root"
    ip = [_guest.loader(root), "--library-path", _guest.library_folder(root),
          _guest.first_of(root, _guest.PROGRAMS["sbin/ip"])]
    for words in ("link set lo up", "tuntap add tap0 mode tap", "link set tap0 mtu 4500",
                  "address add 10.77.0.1/24 dev tap0", "address add fd77::1/64 dev tap0 nodad",
                  "link set tap0 up"):
        _guest.run(*ip, *words.split())


def main(inside):
    """Prepares a guest in the build directory sys.argv[1], and calls inside(build directory) in a
    namespace that has the host's end of its cable. What to exit with."""
    build = os.path.abspath(sys.argv[1])
    cache = f"{build}/interop"
    if INSIDE in os.environ:
        make_network(cache)
        return inside(build)
    try:
        _guest.prepare(cache, f"{build}/tests/interop_agent")
        command = namespace()
    except _guest.Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    return subprocess.run([*command, sys.executable, *sys.argv], stdin=subprocess.DEVNULL,
                          env=dict(os.environ, **{INSIDE: "1"}),
                          preexec_fn=_guest.die_with_parent).returncode
