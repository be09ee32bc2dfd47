# SPDX-License-Identifier: BSD-2-Clause
"""A virtual machine with Debian's kernel and Soft-RoCE (rdma_rxe), from Debian's own packages.

prepare(cache, agent) makes the pieces in a cache directory, downloading what is not there yet;
Guest boots them in QEMU, with no file outside its run directory and no process that outlives ours.
Needs apt-get, dpkg-deb, and no privilege: nothing is installed.
"""
import contextlib
import ctypes
import glob
import lzma
import os
import re
import shutil
import signal
import subprocess
import tarfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["qemu-system-x86", "ibverbs-utils", "ibverbs-providers", "perftest",
            "iproute2", "busybox-static"]
# What rdma_rxe needs to load; crc32_generic is looked up by name, so that no module says so.
MODULES = {"virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio", "virtio_pci",
           "failover", "net_failover", "virtio_net", "crc32_generic", "ib_core", "ib_uverbs",
           "udp_tunnel", "ip6_udp_tunnel", "rdma_rxe"}
ROOTS = ["virtio_pci", "virtio_net", "crc32_generic", "ib_uverbs", "rdma_rxe"]
# The programs that go into the guest, and where Debian's packages have them.
VERBS = ["ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong",
         "ib_send_lat", "ib_send_bw", "ib_write_bw", "ib_read_lat", "ib_read_bw", "ib_atomic_lat",
         "ib_atomic_bw"]
PROGRAMS = {"sbin/rdma": ["usr/bin/rdma", "usr/sbin/rdma"],
            "sbin/ip": ["usr/bin/ip", "usr/sbin/ip"],
            **{f"usr/bin/{name}": [f"usr/bin/{name}"] for name in VERBS}}


class Unavailable(Exception):
    """Why there is no guest on this machine: a sentence."""


def run(*command, **options):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, **options).stdout


# ---- packages ------------------------------------------------------------------------------------

class Apt:
    """apt-get with a package status and an archive directory of its own: nothing is installed, so
    that everything a package depends on is fetched, and the machine's own state is left alone."""

    def __init__(self, cache):
        self.archives = os.path.join(cache, "archives")
        self.lists = os.path.join(cache, "lists")
        for folder in (self.archives, self.lists):
            os.makedirs(os.path.join(folder, "partial"), exist_ok=True)
        status = os.path.join(cache, "status")
        open(status, "w", encoding="ascii").close()
        self.options = ["-q=2", "-o", f"Dir::State::status={status}",
                        "-o", f"Dir::Cache::archives={self.archives}", "-o", "Debug::NoLocking=1",
                        "-o", "APT::Install-Recommends=0", "-o", "Acquire::Retries=2"]
        if os.geteuid() == 0:
            self.options += ["-o", "APT::Sandbox::User=root"]

    def call(self, *command, **options):
        try:
            return run(*command[:1], *self.options, *command[1:], timeout=600, **options)
        except FileNotFoundError as error:
            raise Unavailable("Debian's packages cannot be had: there is no apt-get here") from error
        except subprocess.SubprocessError as error:
            said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            raise Unavailable("Debian's packages cannot be had: "
                              + (said[-1] if said else "apt-get failed")) from error

    def kernel(self):
        """The package that linux-image-amd64 stands for today."""
        shown = self.call("apt-cache", "show", "linux-image-amd64")
        match = re.search(r"^Depends:.*?(linux-image-[0-9][^ ,]*)", shown, re.MULTILINE)
        if not match:
            raise Unavailable("Debian's packages cannot be had: no linux-image-amd64")
        return match.group(1)

    def fetch(self):
        self.call("apt-get", "-d", "-y", "install", *PACKAGES)
        kernel = self.kernel()
        if not glob.glob(f"{self.archives}/{kernel}_*.deb"):
            self.call("apt-get", "download", kernel, cwd=self.archives)
        return kernel

    def fetch_all(self):
        """Downloads; the machine's package lists first, then, if they do not do, new ones."""
        try:
            return self.fetch()
        except Unavailable:
            self.options += ["-o", f"Dir::State::lists={self.lists}"]
            self.call("apt-get", "update")
            return self.fetch()


def unpack(archives, kernel, root, boot):
    for folder in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(f"{root}/usr/{folder}", exist_ok=True)
        os.symlink(f"usr/{folder}", f"{root}/{folder}")
    for package in sorted(glob.glob(f"{archives}/*.deb")):
        name = os.path.basename(package)
        if name.startswith(kernel + "_"):
            unpack_kernel(package, boot)
        elif not name.startswith("linux-image-"):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                                  stdout=subprocess.PIPE) as deb:
                subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner",
                                "-C", root], stdin=deb.stdout, check=True)


def unpack_kernel(package, boot):
    """The image, uncompressed so that QEMU enters it at once, and the modules in MODULES."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as deb, \
            tarfile.open(fileobj=deb.stdout, mode="r|") as tar:
        for member in tar:
            name = os.path.basename(member.name)
            module = name.removesuffix(".ko").replace("-", "_")
            if name.startswith("vmlinuz-"):
                image = tar.extractfile(member).read()
                start = image.index(b"\xfd7zXZ\0")
                with open(f"{boot}/vmlinux", "wb") as file:
                    file.write(lzma.LZMADecompressor().decompress(image[start:]))
            elif name.endswith(".ko") and module in MODULES:
                with open(f"{boot}/{module}.ko", "wb") as file:
                    file.write(tar.extractfile(member).read())


def prepare_packages(cache, say):
    """Downloads and unpacks, unless the cache has what is asked for."""
    key = " ".join([*PACKAGES, *sorted(MODULES)])
    stamp = f"{cache}/stamp"
    with contextlib.suppress(FileNotFoundError):
        with open(stamp, encoding="ascii") as file:
            if file.read() == key:
                return
    os.makedirs(cache, exist_ok=True)
    say("fetching QEMU and Debian's kernel (about 120 MB, once)")
    apt = Apt(cache)
    kernel = apt.fetch_all()
    say("unpacking")
    for folder in ("root", "boot"):
        shutil.rmtree(f"{cache}/{folder}", ignore_errors=True)
        os.makedirs(f"{cache}/{folder}")
    unpack(apt.archives, kernel, f"{cache}/root", f"{cache}/boot")
    with open(stamp, "w", encoding="ascii") as file:
        file.write(key)


# ---- the initial file system ---------------------------------------------------------------------

def module_order(boot):
    """The modules in an order in which each finds what it needs, as their .modinfo says."""
    order = []

    def need(name):
        if name in order:
            return
        with open(f"{boot}/{name}.ko", "rb") as file:
            match = re.search(rb"\0depends=([^\0]*)\0", file.read())
        for other in (match.group(1).decode().split(",") if match else []):
            if other:
                need(other.replace("-", "_"))
        order.append(name)

    for name in ROOTS:
        need(name)
    return order


def library_folder(root):
    return f"{root}/usr/lib/x86_64-linux-gnu"


def loader(root):
    return f"{root}/usr/lib64/ld-linux-x86-64.so.2"


def libraries(root, program):
    """The paths of the shared libraries that program needs, as the guest's own loader finds
    them."""
    shown = run(loader(root), "--library-path", library_folder(root), "--list", program)
    return re.findall(r"=> (\S+) ", shown)


class Archive:
    """A cpio archive (newc), as the kernel unpacks it into its first file system."""

    def __init__(self):
        self.bytes = bytearray()
        self.folders = set()
        self.count = 0

    def entry(self, name, mode, data=b"", device=(0, 0)):
        self.count += 1
        name = name.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0]
        self.bytes += b"070701" + b"".join(b"%08x" % field for field in fields)
        for part in (name, data):
            self.bytes += part
            self.bytes += bytes(-len(self.bytes) % 4)

    def folder(self, path):
        if path and path not in self.folders:
            self.folder(os.path.dirname(path))
            self.folders.add(path)
            self.entry(path, 0o040755)

    def file(self, path, source):
        with open(source, "rb") as file:
            self.data(path, file.read())

    def data(self, path, data):
        self.folder(os.path.dirname(path))
        self.entry(path, 0o100755, data)

    def write(self, path):
        self.entry("TRAILER!!!", 0)
        with open(path, "wb") as file:
            file.write(self.bytes)


def first_of(root, paths):
    return next(f"{root}/{p}" for p in paths if os.path.exists(f"{root}/{p}"))


def make_initrd(root, boot, agent, path):
    archive = Archive()
    needed = set()
    providers = glob.glob(f"{library_folder(root)}/libibverbs/librxe-*.so")
    programs = {name: first_of(root, paths) for name, paths in PROGRAMS.items()}
    programs["bin/agent"] = agent
    for name, source in programs.items():
        archive.file(name, source)
    for source in [*programs.values(), *providers]:
        needed.update(libraries(root, source))
    for source in sorted(needed):
        archive.file("lib/x86_64-linux-gnu/" + os.path.basename(source), source)
    for source in providers:
        archive.file("usr/lib/x86_64-linux-gnu/libibverbs/" + os.path.basename(source), source)
    order = module_order(boot)
    for name in order:
        archive.file(f"lib/modules/{name}.ko", f"{boot}/{name}.ko")
    archive.data("lib/modules/order", "\n".join(order).encode() + b"\n")
    archive.file("lib64/ld-linux-x86-64.so.2", loader(root))
    archive.file("bin/busybox", f"{root}/usr/bin/busybox")
    archive.file("init", f"{HERE}/_init.sh")
    archive.data("etc/libibverbs.d/rxe.driver", b"driver rxe\n")
    for name in ("proc", "sys", "dev", "tmp", "run"):
        archive.folder(name)
    archive.entry("dev/console", 0o020600, device=(5, 1))
    archive.entry("dev/null", 0o020666, device=(1, 3))
    archive.write(path)


def prepare(cache, agent, say=print):
    """A directory with vmlinux and initrd, made from Debian's packages and our agent, the program
    that takes verbs commands in the guest. Raises Unavailable."""
    if os.uname().machine != "x86_64":
        raise Unavailable("the guest is an x86-64 machine, this one is not")
    if not shutil.which("dpkg-deb"):
        raise Unavailable("Debian's packages cannot be had: there is no dpkg-deb here")
    prepare_packages(cache, say)
    make_initrd(f"{cache}/root", f"{cache}/boot", agent, f"{cache}/boot/initrd")


# ---- the machine ---------------------------------------------------------------------------------

def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def watch(command, timeout_s, verbose, environment=None):
    """Runs a cmocka program and prints what it says: all of it, or what is not a good row. Its exit
    status. It dies with this process."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, preexec_fn=die_with_parent,
                          env=dict(os.environ, **(environment or {}))) as program:
        timer = threading.Timer(timeout_s, program.kill)
        timer.start()
        for line in program.stdout:
            if verbose or not line.startswith(("[ RUN      ]", "[       OK ]")):
                print(line, end="", flush=True)
        timer.cancel()
        return program.wait()


class Guest:
    """A running guest. Its sockets are in folder (relative names: a socket's path is short):
    `control` speaks to the agent, `guest.eth` takes Ethernet frames as datagrams and `host.eth` is
    where it sends its own; or its network card is the tap device named. Dies with this process."""

    def __init__(self, cache, folder, tap=None, words=""):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        for name in ("control", "guest.eth", "host.eth", "console"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{folder}/{name}")
        net = "dgram,id=n0,local.type=unix,local.path=guest.eth,remote.type=unix," \
              "remote.path=host.eth"
        if tap:
            net = f"tap,id=n0,ifname={tap},script=no,downscript=no"
        root = os.path.abspath(f"{cache}/root")
        qemu = [loader(root), "--library-path", library_folder(root),
                f"{root}/usr/bin/qemu-system-x86_64", "-L", f"{root}/usr/share/qemu",
                "-L", f"{root}/usr/share/seabios"]
        machine = ["-accel", "tcg", "-cpu", "max", "-machine", "pc", "-m", "256",
                   "-smp", "1", "-display", "none", "-no-reboot", "-nodefaults",
                   "-kernel", os.path.abspath(f"{cache}/boot/vmlinux"),
                   "-initrd", os.path.abspath(f"{cache}/boot/initrd"),
                   "-append", f"console=ttyS0 quiet panic=-1 {words}", "-serial", "file:console",
                   "-serial", "unix:control,server=on,wait=off", "-netdev", net,
                   "-device", "virtio-net-pci,netdev=n0,mac=52:54:00:77:00:02,romfile="]
        self.log = open(f"{folder}/qemu.log", "w", encoding="utf-8")
        environment = dict(os.environ, QEMU_MODULE_DIR=f"{library_folder(root)}/qemu")
        self.process = subprocess.Popen([*qemu, *machine], cwd=folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=die_with_parent)

    def wait_ready(self, timeout_s):
        """Until the guest's agent listens. Raises RuntimeError with what the machine said."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self.process.poll() is None:
            if "READY" in self.console():
                return
            time.sleep(0.05)
        with open(self.log.name, encoding="utf-8") as file:
            raise RuntimeError("the guest did not come up\n" + file.read() + self.console())

    def console(self):
        with contextlib.suppress(FileNotFoundError):
            with open(f"{self.folder}/console", encoding="utf-8", errors="replace") as file:
                return file.read()
        return ""

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
