# SPDX-License-Identifier: BSD-2-Clause
"""_flap.py <interface> <file> - takes the link down for a quarter of a second, three times. Each time
10 MB have gone by before, more than without a way back (the credit of `rig5 perf` is 4 MB) and than a
queue pair sends again before it gives up, and a tenth of a second, in which both sides try again: each
has come on since the last time. Writes how long each took, in ms, one a line. In one process that is
seldom kept waiting: to start a command takes longer where others want the processors. SIGTERM: not once
more."""
import contextlib
import fcntl
import os
import signal
import socket
import struct
import sys
import time

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
TIMES, DOWN_S, UP_S, WAIT_S = 3, 0.25, 0.1, 20
BETWEEN_BYTES = 10000000
told_to_end = []


def moved(interface):
    total = 0
    for name in ("rx_bytes", "tx_bytes"):
        with open(f"/sys/class/net/{interface}/statistics/{name}", encoding="ascii") as file:
            total += int(file.read())
    return total


def wait_for(interface, more):
    """Until so many bytes more have gone by. Whether they have."""
    goal, until = moved(interface) + more, time.monotonic() + WAIT_S
    time.sleep(UP_S)
    while moved(interface) < goal:
        if told_to_end or time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def switch(sock, interface, up):
    request = struct.pack("16sh14x", interface.encode(), 0)
    flags = struct.unpack("16sh14x", fcntl.ioctl(sock, SIOCGIFFLAGS, request))[1]
    flags = flags | IFF_UP if up else flags & ~IFF_UP
    fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", interface.encode(), flags))


def main():
    interface, path = sys.argv[1:]
    with contextlib.suppress(OSError):  # it may not be allowed
        os.nice(-15)
    signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, \
            open(path, "w", encoding="ascii") as file:
        for _ in range(TIMES):
            if not wait_for(interface, BETWEEN_BYTES):
                break
            begun = time.monotonic()
            switch(sock, interface, False)
            time.sleep(DOWN_S)
            switch(sock, interface, True)
            print(int((time.monotonic() - begun) * 1000), file=file, flush=True)


if __name__ == "__main__":
    main()
