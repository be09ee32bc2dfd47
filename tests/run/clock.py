# SPDX-License-Identifier: BSD-2-Clause
"""Shows that ibv_query_rt_values_ex gives the device's clock of now, also after a time in which nobody
polled, and that mlx5dv turns it into the time of day. By reading it around a sleep, in a program under
`rig5 run`."""
import os
import subprocess
import sys
import time

PYTHON = "/usr/bin/python3"  # Debian's own: pyverbs is built for it


def inside():
    from pyverbs.cq import CQ
    from pyverbs.providers.mlx5.mlx5dv import Mlx5Context, Mlx5DVContextAttr

    context = Mlx5Context(Mlx5DVContextAttr(), name="mlx5_0")
    queue = CQ(context, 10, None, None, 0)
    for nap_s in (0, 0.2, 0.001):
        time.sleep(nap_s)
        before = time.monotonic_ns()
        _, device = context.query_rt_values_ex()
        after = time.monotonic_ns()
        # A pass may take a reading of the clock that is a microsecond old.
        assert before - 5000 <= device <= after, (nap_s, before, device, after)
        wall = Mlx5Context.device_timestamp_to_ns(context, device)
        assert abs(wall - time.time_ns()) < 1e9, (wall, time.time_ns())
    queue.close()


def main():
    if len(sys.argv) > 2:
        inside()
        return 0
    if subprocess.run([PYTHON, "-c", "import pyverbs.device"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("python3-pyverbs is not installed")
        return 77
    build = sys.argv[1]
    return subprocess.run([os.path.join(build, "rig5"), "run", "--", PYTHON, __file__, build,
                           "inside"], timeout=50, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
