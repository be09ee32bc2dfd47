# SPDX-License-Identifier: BSD-2-Clause
"""Shows that `rig5 recv` and `rig5 send` hold out against a peer that lies on TCP: what is no protocol
is dropped and the receiver stays for the next one; what is one but makes no sense ends in a message
on both sides and no file. By playing the peer: its queue pair is the other side's own, sent back."""
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

RIG5 = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.environ["RIG5_BUILD_DIR"], "rig5")
HELLO, OFFER, ACCEPT, DIGEST, DONE, ABORT = range(1, 7)
MAGIC = b"rig5xfer"
failures = []


def check(name, condition, shown=""):
    if not condition:
        failures.append(name)
        print(f"FAILED: {name} {shown}")


def frame(kind, payload):
    return struct.pack(">IHH", len(payload), kind, 0) + payload


def hello(endpoint, version=1, chunk=262144, slots=16):
    return frame(HELLO, MAGIC + struct.pack(">HIIH", version, chunk, slots, len(endpoint)) +
                 endpoint)


def offer(*files):
    payload = struct.pack(">I", len(files))
    for name, size, mode in files:
        payload += struct.pack(">QIH", size, mode, len(name)) + name
    return frame(OFFER, payload)


class Peer:
    """One end of a TCP connection that speaks frames."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(20)

    def send(self, data):
        self.sock.sendall(data)

    def receive(self):
        """(type, payload), or (None, b"") when the other side has closed."""
        try:
            head = self.exactly(8)
            size, kind, _ = struct.unpack(">IHH", head)
            return kind, self.exactly(size)
        except (EOFError, ConnectionError):
            return None, b""

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.sock.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def endpoint(self):
        """The text of the other side's HELLO."""
        kind, payload = self.receive()
        assert kind == HELLO and payload[:8] == MAGIC, (kind, payload)
        (size,) = struct.unpack(">H", payload[18:20])
        return payload[20:20 + size]

    def abort(self):
        """The sentence of the ABORT that has to come next (None: something else came)."""
        kind, payload = self.receive()
        return payload[2:].decode() if kind == ABORT else None


class Command:
    """A `rig5 recv`, or a `rig5 send` that connects to us."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([RIG5, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def end(self):
        try:
            out, err = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            err += "(hung)"
        return self.process.returncode, out, err


class Receiver(Command):
    def __init__(self, folder, *arguments):
        super().__init__("recv", "--nic", "soft0", "--listen", "127.0.0.1:0", *arguments, folder)
        line = self.process.stderr.readline()
        match = re.search(r"port (\d+)", line)
        assert match, line
        self.port = int(match.group(1))

    def connect(self):
        return Peer(socket.create_connection(("127.0.0.1", self.port), timeout=20))


def is_alive(receiver):
    return receiver.process.poll() is None


def test_strangers(folder):
    """Nobody who is no sender makes a receiver stop listening."""
    receiver = Receiver(folder)
    strangers = {
        "nothing": b"",
        "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "huge frame": struct.pack(">IHH", 0xffffffff, HELLO, 0),
        "frame over the bound": struct.pack(">IHH", 513, HELLO, 0) + bytes(513),
        "not a hello": frame(DONE, bytes(4)),
        "wrong magic": frame(HELLO, b"rig6xfer" + bytes(20)),
        "other version": hello(b"x", version=2),
        "bad endpoint": hello(b"no endpoint"),
        "half a hello": hello(b"x")[:20],
        "no chunk": hello(b"x", chunk=0),
        "too many slots": hello(b"x", slots=1000),
        "zero bytes": bytes(4096),
    }
    for name, data in strangers.items():
        peer = receiver.connect()
        peer.send(data)
        if name in ("nothing", "half a hello"):
            peer.sock.close()
            continue
        # Closed, with or without an ABORT, and no HELLO beyond the first.
        kinds = []
        while (kind := peer.receive()[0]) is not None:
            kinds.append(kind)
        check(name, kinds in ([HELLO], [HELLO, ABORT]), kinds)
        check(f"{name}: the receiver goes on", is_alive(receiver))
        peer.sock.close()
    # And then it still serves one.
    peer = receiver.connect()
    peer.send(hello(peer.endpoint()))
    peer.send(offer((b"file", 0, 0o644)))
    check("accept after strangers", peer.receive()[0] == ACCEPT)
    peer.send(frame(DIGEST, struct.pack(">I", 0) + bytes.fromhex(
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")))
    check("done", peer.receive() == (DONE, struct.pack(">I", 1)))
    status, out, err = receiver.end()
    check("served after strangers", status == 0, err)
    check("its digest", out.split() == ["e3b0c44298fc1c149afbf4c8996fb924"
                                        "27ae41e4649b934ca495991b7852b855", "file"], out)
    check("its file", os.listdir(folder) == ["file"])


OFFERS = {
    "up": offer((b"../up", 0, 0o644)),
    "dot dot": offer((b"..", 0, 0o644)),
    "absolute": offer((b"/tmp/rig5-absolute", 0, 0o644)),
    "below": offer((b"a/b", 0, 0o644)),
    "empty name": offer((b"", 0, 0o644)),
    "NUL": offer((b"a\0b", 0, 0o644)),
    "terminal": offer((b"\x1b[2J", 0, 0o644)),
    "set user id": offer((b"file", 0, 0o4755)),
    "twice": offer((b"file", 0, 0o644), (b"file", 0, 0o644)),
    "negative size": offer((b"file", 1 << 63, 0o644)),
    "no files": offer(),
    "truncated": frame(OFFER, struct.pack(">I", 2) + struct.pack(">QIH", 0, 0o644, 1) + b"a"),
    "count of 2^32-1": frame(OFFER, struct.pack(">I", 0xffffffff)),
    "trailing bytes": frame(OFFER, struct.pack(">I", 1) +
                            struct.pack(">QIH", 0, 0o644, 1) + b"ab"),
    "long name": offer((b"n" * 256, 0, 0o644)),
    "over the limit": offer((b"file", (64 << 30) + 1, 0o644)),
    "not an offer": frame(DIGEST, bytes(36)),
}


def test_offers(folder):
    """An offer that is refused is told so, and the receiver fails."""
    for name, data in OFFERS.items():
        receiver = Receiver(folder)
        peer = receiver.connect()
        peer.send(hello(peer.endpoint()))
        peer.send(data)
        check(f"offer {name}: a reason", peer.abort())
        status, _, err = receiver.end()
        check(f"offer {name}: status", status == 1, (status, err))
        check(f"offer {name}: message", err.startswith("rig5 recv: "), err)
        check(f"offer {name}: no file", os.listdir(folder) == [])
    check("no absolute file", not os.path.exists("/tmp/rig5-absolute"))


def test_digests(folder):
    """A file whose digest is another, or comes out of order, has no name at the end."""
    good = struct.pack(">I", 0) + bytes(32)
    talks = {
        "wrong digest": (good, "another SHA-256"),
        "wrong index": (struct.pack(">I", 1) + bytes(32), "does not speak"),
        "index out of range": (struct.pack(">I", 0xffffffff) + bytes(32), "does not speak"),
        "short digest": (good[:-1], "does not speak"),
    }
    for name, (payload, message) in talks.items():
        receiver = Receiver(folder)
        peer = receiver.connect()
        peer.send(hello(peer.endpoint()))
        peer.send(offer((b"file", 0, 0o644)))
        check(f"{name}: accept", peer.receive()[0] == ACCEPT)
        peer.send(frame(DIGEST, payload))
        check(f"{name}: reason", message in (peer.abort() or ""))
        status, out, err = receiver.end()
        check(f"{name}: status", status == 1 and message in err, (status, err))
        check(f"{name}: nothing printed", out == "")
        check(f"{name}: no file", os.listdir(folder) == [])


def test_silence(folder):
    """A sender that offers and then says nothing is given up; one that leaves is noticed at once."""
    receiver = Receiver(folder, "--timeout", "1")
    peer = receiver.connect()
    peer.send(hello(peer.endpoint()))
    peer.send(offer((b"file", 10, 0o644)))
    check("silence: accept", peer.receive()[0] == ACCEPT)
    check("silence: reason", "nothing moved" in (peer.abort() or ""))
    check("silence: status", receiver.end()[0] == 1)
    receiver = Receiver(folder)
    peer = receiver.connect()
    peer.send(hello(peer.endpoint()))
    peer.send(offer((b"file", 10, 0o644)))
    check("leaving: accept", peer.receive()[0] == ACCEPT)
    peer.sock.close()
    start = time.monotonic()
    check("leaving: status", receiver.end()[0] == 1)
    check("leaving: soon", time.monotonic() - start < 20)  # without: 30 s
    check("no file", os.listdir(folder) == [])


def sender_to(listener, path, *arguments):
    sender = Command("send", "--nic", "soft0", "--to",
                     f"127.0.0.1:{listener.getsockname()[1]}", *arguments, path)
    return sender, Peer(listener.accept()[0])


def test_receivers(folder):
    """A sender meets a receiver that is none, or lies."""
    path = os.path.join(folder, "data")
    with open(path, "wb") as file:
        file.write(os.urandom(1000000))
    abort = frame(ABORT, struct.pack(">H", 12) + b"\x1b[31mno\x07 way")
    talks = {
        "closes": (None, "closed the connection"),
        "http": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak"),
        "too long": (struct.pack(">IHH", 513, HELLO, 0), "too long"),
        "not a hello": (frame(ACCEPT, b""), "does not speak"),
        "other version": (hello(b"x", version=9), "another version"),
        "bad endpoint": (hello(b"x"), "endpoint"),
        # The reason is shown, but nothing in it commands the terminal.
        "gives a reason": (abort, "the receiver says: ?[31mno? way"),
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        for name, (data, message) in talks.items():
            sender, peer = sender_to(listener, path)
            if data is not None:
                peer.send(data)
                peer.receive()
            peer.sock.close()
            status, out, err = sender.end()
            check(f"receiver {name}", status == 1 and out == "", (status, out))
            check(f"receiver {name}: message", message in err, err)
        test_lies(listener, path)


def test_lies(listener, path):
    """A receiver that accepts and then does not keep to the protocol: never status 0."""
    lies = {
        "done too early": (frame(DONE, struct.pack(">I", 1)), []),
        "digest": (frame(DIGEST, bytes(36)), []),
        "silent": (b"", ["--timeout", "1"]),
    }
    for name, (data, arguments) in lies.items():
        sender, peer = sender_to(listener, path, *arguments)
        # Its own queue pair: what it sends arrives at its receives for credit, which take no data.
        peer.send(hello(peer.endpoint()))
        check(f"lie {name}: offer", peer.receive()[0] == OFFER)
        peer.send(frame(ACCEPT, b"") + data)
        status, out, err = sender.end()
        check(f"lie {name}", status == 1 and out == "", (status, out))
        check(f"lie {name}: message", err.startswith("rig5 send: "), err)
        peer.sock.close()


for test in (test_strangers, test_offers, test_digests, test_silence, test_receivers):
    with tempfile.TemporaryDirectory() as place:
        test(place)
print(f"{len(failures)} failures" if failures else "ok")
sys.exit(bool(failures))
