# SPDX-License-Identifier: BSD-2-Clause
"""Shows that congestion control keeps the bounds that `make figures` prints, and that the plots in
docs/congestion are those of this source. By running scripts/figures.py into a folder of its own and
comparing; after a change: scripts/figures.py <build directory> docs/congestion."""
import os
import subprocess
import sys
import tempfile

ROOT = os.environ["RIG5_SOURCE_DIR"]
PLOTS = 10


def contents(folder):
    return {name: open(f"{folder}/{name}", encoding="utf-8").read()
            for name in sorted(os.listdir(folder)) if name.endswith(".svg")}


def main():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, f"{ROOT}/scripts/figures.py", sys.argv[1], folder],
                              check=False, stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        if done.returncode:
            return "a bound is missed"
        made, kept = contents(folder), contents(f"{ROOT}/docs/congestion")
    if len(made) != PLOTS or made.keys() != kept.keys():
        return f"the plots are {list(made)}, those of docs/congestion {list(kept)}"
    stale = [name for name in made if made[name] != kept[name]]
    return f"docs/congestion is not up to date: {stale}" if stale else 0


if __name__ == "__main__":
    sys.exit(main())
