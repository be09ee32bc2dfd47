# SPDX-License-Identifier: BSD-2-Clause
"""Shows that a layer includes only what docs/ARCHITECTURE.md lets it see, and that the pure layers
include no header of I/O, clocks, memory or threads. By reading every #include of the layers."""
import re

import _tidy

PURE = ("base", "abi", "nic", "fault", "kern")
# Headers of types, constants, memcpy and instructions. <linux/errno.h> has the error codes and no
# variable.
PURE_SYSTEM = re.compile(r"(stdint|stddef|stdbool|stdarg|stdalign|stdatomic|stdnoreturn|limits|"
                         r"inttypes|string|cpuid|immintrin|linux/types|linux/errno|linux/netlink|"
                         r"rdma/[a-z0-9_-]+)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def check(tree):
    findings = []
    table = _tidy.layers(tree)
    for path in tree.c_files():
        layer = path.split("/")[0]
        if layer in table:
            findings += check_file(tree, path, layer, table[layer] + [layer + "/"])
    return findings


def check_file(tree, path, layer, sees):
    findings = []
    for kind, name in INCLUDE.findall(_tidy.without_comments(tree.read(path))):
        if kind == '"' and not any(name == s or name.startswith(s) for s in sees if s):
            findings.append(f"{path}: includes \"{name}\"; {layer} sees {' '.join(sees)}")
        elif kind == "<" and layer in PURE and not PURE_SYSTEM.fullmatch(name):
            hint = " (<linux/errno.h> has the codes alone)" if name == "errno.h" else ""
            findings.append(f"{path}: includes <{name}>; {layer} is pure{hint}")
        elif kind == "<" and re.match(r"rig5\.h|(%s)/" % "|".join(("base", "abi", "nic", "kern")),
                                      name):
            findings.append(f"{path}: <{name}> is ours: include it by folder, in quotes")
    return findings


TABLE = {"docs/ARCHITECTURE.md": "## Layers\n\n```\nbase  a\nabi   b\n   sees: base\n"
                                 "nic   c  sees: abi, base\nlib d sees: abi, base\n"
                                 "soft  e  sees: lib's os.h, base\n```\n"}
BAD = [
    ("upwards", TABLE | {"base/a.c": '#include "abi/b.h"\n'}, 'base/a.c: includes "abi/b.h"'),
    ("across", TABLE | {"nic/a.c": '#include "lib/os.h"\n'}, 'nic/a.c: includes "lib/os.h"'),
    ("no folder", TABLE | {"nic/a.c": '#include "nic.h"\n'}, 'nic/a.c: includes "nic.h"'),
    ("not os.h", TABLE | {"soft/a.c": '#include "lib/qp.h"\n'}, 'soft/a.c: includes "lib/qp.h"'),
    ("stdio", TABLE | {"nic/a.h": "#include <stdio.h>\n"}, "nic/a.h: includes <stdio.h>"),
    ("sys", TABLE | {"abi/a.c": "# include <sys/mman.h>\n"}, "abi/a.c: includes <sys/mman.h>"),
    ("errno", TABLE | {"base/a.c": "#include <errno.h>\n"}, "base/a.c: includes <errno.h>"),
    ("good", TABLE | {"soft/a.c": '#include "lib/os.h"\n#include <stdio.h>\n',
                      "abi/b.c": '#include "base/x.h"\n/* #include <time.h> */\n'}, None),
]

if __name__ == "__main__":
    _tidy.main(check, BAD)
