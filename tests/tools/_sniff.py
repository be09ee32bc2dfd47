# SPDX-License-Identifier: BSD-2-Clause
"""_sniff.py <interface> <file> - writes every frame of the interface to a capture until SIGTERM."""
import signal
import socket
import struct
import sys

ETH_P_ALL = 3


def main():
    interface, path = sys.argv[1:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        sock.bind((interface, 0))
        with open(path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
            file.flush()
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            while True:
                frame = sock.recv(65535)
                file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
                file.flush()


if __name__ == "__main__":
    main()
