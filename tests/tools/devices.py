# SPDX-License-Identifier: BSD-2-Clause
"""Shows that `rig5 devices` lists the software NICs that RIG5_SOFT configures, as a table and as JSON,
and gives a NIC that cannot be opened a line with the reason. By reading both."""
import json
import os
import subprocess
import sys

RIG5 = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.environ["RIG5_BUILD_DIR"], "rig5")
failures = 0


def check(name, condition, shown=""):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {name} {shown}")


def devices(*arguments, soft=None):
    env = dict(os.environ)
    env.pop("RIG5_SOFT", None)
    if soft is not None:
        env["RIG5_SOFT"] = soft
    done = subprocess.run([RIG5, "devices", *arguments], capture_output=True, text=True,
                          timeout=20, env=env, check=False)
    return done.returncode, done.stdout, done.stderr


def soft_only(nics):
    return [nic for nic in nics if nic.get("bus") == "software" or "soft" in nic["name"]]


# On its own address: programs of another version may have the default one open.
OWN = os.environ.get("RIG5_SOFT", "soft0")

_, out, _ = devices("--json")
nics = soft_only(json.loads(out))
check("one software NIC by default", [nic["name"] for nic in nics] == ["soft0"], nics)
status, out, _ = devices("--json", soft=OWN)
nics = soft_only(json.loads(out))
check("status", status == 0, status)
check("one software NIC", [nic["name"] for nic in nics] == ["soft0"], nics)
nic = nics[0]
for key, kind in {"bus": str, "software": bool, "link": str, "state": str, "address": str,
                  "gid_index": int, "mtu_bytes": int, "message_max_bytes": int,
                  "entries_max": int, "receives_max": int, "cqe_max": int,
                  "inline_max_bytes": int, "pieces_max": int, "rate_bps": int,
                  "firmware": str}.items():
    check(f"{key} is a {kind.__name__}", isinstance(nic.get(key), kind), nic)
check("software", nic["software"] is True)
check("state", nic["state"] == "active", nic)
check("link", nic["link"] == "ethernet", nic)
check("largest message", nic["message_max_bytes"] == 1 << 30, nic)

status, out, _ = devices(soft=OWN)
check("table status", status == 0)
lines = out.splitlines()
check("table head", lines[0].split() == ["NIC", "bus", "link", "state", "address", "MTU"], lines)
row = [line for line in lines if line.startswith("soft0 ")]
check("table row", len(row) == 1 and nic["address"] in row[0] and str(nic["mtu_bytes"]) in row[0],
      out)

# A second one, and a configuration that makes no sense: the reason is given.
status, out, _ = devices("--json", soft=f"{OWN};soft1,addr=127.0.0.77")
nics = soft_only(json.loads(out))
check("two NICs", [nic["name"] for nic in nics] == ["soft0", "soft1"], out)
check("its address", nics[-1].get("address") == "127.0.0.77", nics)
status, out, err = devices("--json", soft="soft0,speed=11")
check("a wrong RIG5_SOFT: no software NIC", soft_only(json.loads(out)) == [], out)
check("a wrong RIG5_SOFT: the reason", "RIG5_SOFT" in err and "speed" in err, err)
if not os.path.isdir("/sys/class/infiniband"):
    check("no NIC that works is status 1", status == 1, status)


def hold_as_nobody():
    """A process of another user that has soft1's address, or None where that cannot be."""
    if os.getuid() != 0:
        return None
    try:
        process = subprocess.Popen([RIG5, "recv", "--nic", "soft1", "--listen", "127.0.0.1:0",
                                    "/tmp"], stderr=subprocess.PIPE, text=True, user=65534,
                                   env={**os.environ, "RIG5_SOFT": "soft1,addr=127.0.0.77"})
    except PermissionError:
        return None
    if process.stderr.readline().startswith("Listening"):
        return process
    process.kill()
    return None


# One that cannot be opened: its address is another user's.
holder = hold_as_nobody()
if holder:
    soft = f"{OWN};soft1,addr=127.0.0.77"
    status, out, _ = devices("--json", soft=soft)
    nics = soft_only(json.loads(out))
    check("the first works", "error" not in nics[0], nics)
    check("the second says why", nics[-1].get("error"), nics)
    check("still status 0", status == 0)
    status, out, _ = devices(soft=soft)
    check("a line with the reason", any(line.startswith("soft1 ") and "cannot be opened: " in line
                                        for line in out.splitlines()), out)
    holder.kill()
    holder.wait()
else:
    print("not shown: a NIC of another user (needs root)")
print(f"{failures} failures" if failures else "ok")
sys.exit(bool(failures))
