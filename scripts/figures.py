#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""figures.py <build directory> <folder> - plots what congestion control does in virtual time, as the
program `figures` says, beside the reference model's curves (tests/golden/cc): one SVG a figure. Prints the
figures that have a bound; exit status 1 if one is missed."""
import csv
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 56, 48
OURS, MODEL, THIRD = ("#0b5fd8", ""), ("#d9480f", "7 4"), ("#6b7280", "2 3")


def read_model(name):
    with open(f"{ROOT}/tests/golden/cc/{name}.csv", encoding="ascii") as file:
        return list(csv.DictReader(file))


def read_ours(build):
    """{figure: {series: [(x, y)]}}"""
    out = subprocess.run([f"{build}/figures"], check=True, capture_output=True, text=True).stdout
    figures = {}
    for line in out.splitlines():
        figure, series, x, y = line.split(",")
        figures.setdefault(figure, {}).setdefault(series, []).append((float(x), float(y)))
    return figures


# ---- SVG ---------------------------------------------------------------------------------------

def ticks(low, high, count=6):
    """Round numbers in [low, high]."""
    raw = (high - low) / count
    unit = 10 ** math.floor(math.log10(raw))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 9) for i in range(first, int(high / step + 1e-9) + 1)]


def decades(low, high):
    return [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            if low <= 10.0 ** e <= high]


class Plot:
    def __init__(self, title, x_name, y_name, series, log_y=False, points=False, marks=()):
        """series: [(name, style, [(x, y)])]; marks: [(x, words)], lines across."""
        self.title, self.names, self.series, self.log_y = title, (x_name, y_name), series, log_y
        self.points, self.marks = points, marks
        xs = [x for _, _, line in series for x, _ in line]
        ys = [y for _, _, line in series for _, y in line]
        self.x_range = (min(0, min(xs)), max(xs))
        self.y_range = (min(ys) * 0.7, max(ys) * 1.3) if log_y else (min(0, min(ys)), max(ys) * 1.06)

    def x(self, value):
        low, high = self.x_range
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        low, high = self.y_range
        if self.log_y:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def svg(self):
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
               f'font-family="system-ui,sans-serif" font-size="12" fill="#1f2328">',
               f'<title>{self.title}</title>',
               f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
               f'<text x="{LEFT}" y="22" font-size="15" font-weight="600">{self.title}</text>']
        out += self.axes() + self.legend()
        for name, (colour, dashes), line in self.series:
            out += self.curve(name, colour, dashes, line)
        return "\n".join(out + ["</svg>", ""])

    def axes(self):
        bottom, right, out = HEIGHT - BOTTOM, WIDTH - RIGHT, []
        for value in decades(*self.y_range) if self.log_y else ticks(*self.y_range):
            y = f"{self.y(value):.1f}"
            out.append(f'<path d="M{LEFT} {y}H{right}" stroke="#e5e7eb"/>')
            out.append(f'<text x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end">{value:g}</text>')
        for value in ticks(*self.x_range, count=8):
            x = f"{self.x(value):.1f}"
            out.append(f'<path d="M{x} {bottom}v4" stroke="#57606a"/>')
            out.append(f'<text x="{x}" y="{bottom + 17}" text-anchor="middle">{value:g}</text>')
        for value, words in self.marks:
            x = f"{self.x(value):.1f}"
            out.append(f'<path d="M{x} {TOP}V{bottom}" stroke="#57606a" stroke-dasharray="1 3"/>')
            out.append(f'<text x="{x}" y="{TOP + 10}" dx="4" fill="#57606a">{words}</text>')
        middle = (TOP + bottom) / 2
        out += [f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#57606a"/>',
                f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
                f'{self.names[0]}</text>',
                f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">'
                f'{self.names[1]}</text>']
        return out

    def legend(self):
        out, x = [], LEFT
        for name, (colour, dashes), _ in self.series:
            out.append(f'<path d="M{x} 40h26" stroke="{colour}" stroke-width="2" '
                       f'stroke-dasharray="{dashes}"/>')
            out.append(f'<text x="{x + 32}" y="44">{name}</text>')
            x += 56 + 6.7 * len(name)
        return out

    def curve(self, name, colour, dashes, line):
        low, high = self.x_range
        at = [(self.x(x), self.y(y)) for x, y in line if low <= x <= high]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        out = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8" '
               f'stroke-linejoin="round" stroke-dasharray="{dashes}"><title>{name}</title></path>']
        if self.points:
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>' for x, y in at]
        return out


# ---- the figures -------------------------------------------------------------------------------

def model_recovery(case, until_us):
    return [(float(r["t_us"]) / 1000, float(r["rc_bps"]) / 1e9) for r in read_model("recovery")
            if r["case"] == case and float(r["t_us"]) <= until_us]


def model_queue(flows):
    return [(float(r["t_ms"]), float(r["q_bytes"]) / 1000) for r in read_model(f"pkt{flows}")
            if float(r["t_ms"]) <= 30]


def model_steady():
    rows = {}
    for row in read_model("steady"):
        rows.setdefault(int(row["N"]), []).append(float(row["qmean_KB"]))
    return [(n, sum(q) / len(q)) for n, q in sorted(rows.items())]


def model_fixed_points():
    return [(int(r["N"]), float(r["q_exact_KB"])) for r in read_model("fixedpoint")
            if r["pmax"] == "0.01" and r["linear_region"] == "yes" and int(r["N"]) >= 2]


def model_incast():
    return [(int(r["N"]), float(r["peak_KB"])) for r in read_model("incast")
            if r["params"] == "paper40" and r["window_pkts"] == "-"]


def model_gap():
    column = "difference (DCQCN: R_A-R_B Gb/s mean of 5 seeds; Swift: w_A-w_B packets)"
    return [(float(r["t_ms"]), float(r[column])) for r in read_model("conv") if r["algo"] == "dcqcn"]


def fluid_gap():
    return [(float(r["t_ms"]), float(r["R_A_Gbps"]) - float(r["R_B_Gbps"]))
            for r in read_model("fluid2") if float(r["t_ms"]) <= 50]


def model_swift():
    return [(int(r["N"]), float(r["rtt_mean_us"])) for r in read_model("swift")
            if 2 <= int(r["N"]) <= 16]


def plots(ours):
    line = {figure: series.get("rig5") for figure, series in ours.items()}
    swaps = [(60, "swapped"), (120, "swapped back")]
    places = [("behind the one that marks", OURS, "marks"),
              ("behind the one that delays", MODEL, "delays")]
    return {
        "recovery_paper": Plot(
            "DCQCN, the paper's rules: ten notifications, then none", "ms", "Gb/s",
            [("rig5", OURS, line["recovery_paper"]),
             ("model", MODEL, model_recovery("A10", 45000))]),
        "recovery_vendor": Plot(
            "DCQCN, the cards' rules: ten notifications, then none", "ms", "Gb/s",
            [("rig5", OURS, line["recovery_vendor"]),
             ("model", MODEL, model_recovery("V10", 1500))]),
        "queue_2": Plot("DCQCN: the queue of 2 flows", "ms", "KB",
                        [("rig5", OURS, line["queue_2"]), ("model", MODEL, model_queue(2))]),
        "queue_16": Plot("DCQCN: the queue of 16 flows", "ms", "KB",
                         [("rig5", OURS, line["queue_16"]), ("model", MODEL, model_queue(16))],
                         log_y=False),
        "steady": Plot("DCQCN: the mean queue", "flows", "KB",
                       [("rig5", OURS, line["steady"]), ("model, packets", MODEL, model_steady()),
                        ("model, fluid", THIRD, model_fixed_points())], points=True),
        "incast": Plot("N to 1, all at once: the highest queue", "flows", "KB",
                       [("rig5, capped", OURS, line["incast"]),
                        ("rig5, not capped", ("#0b5fd8", "2 3"), ours["incast"]["rig5 without a cap"]),
                        ("model, not capped", MODEL, model_incast())], log_y=True, points=True),
        "converge": Plot("DCQCN: 40 and 5 Gb/s meet", "ms", "apart by Gb/s",
                         [("rig5, mean of 40", OURS, line["converge"]),
                          ("model, packets, mean of 5", MODEL, model_gap()),
                          ("model, fluid", THIRD, fluid_gap())]),
        "swift": Plot("Swift: the mean round trip", "flows", "us",
                      [("rig5", OURS, line["swift"]), ("model", MODEL, model_swift()),
                       ("target", THIRD, ours["swift"]["target"])], points=True),
        "paths_rate": Plot("One sender, two destinations: what each gets", "ms", "Gb/s",
                           [(name, style, ours["paths_rate"][key]) for name, style, key in places],
                           marks=swaps),
        "paths_delay": Plot("One sender, two destinations: the delay of each", "ms", "us",
                            [(name, style, ours["paths_delay"][key]) for name, style, key in places],
                            marks=swaps),
    }


# ---- the bounds --------------------------------------------------------------------------------

def bounds(ours):
    """(what, ours, model's, least, most)"""
    steady, swift = dict(ours["steady"]["rig5"]), dict(ours["swift"]["rig5"])
    for flows, model in model_steady():
        yield f"mean queue of {flows} flows, KB", steady[flows], model, model * 0.75, model * 1.25
    for flows, value in ours["jain"]["rig5"]:
        yield f"Jain's index of {flows:g} flows", value, 1, 0.99, 1
    for flows, peak in ours["incast"]["rig5"]:
        formula = dict(ours["incast"]["formula"])[flows]
        yield f"peak of {flows:g} to 1, KB", peak, formula, formula * 0.9, formula * 1.1
    for flows, target in ours["swift"]["target"]:
        yield f"round trip of {flows:g} Swift flows, us", swift[flows], target, target * 0.95, \
            target * 1.05
    gap = dict(ours["converge"]["rig5"])
    for ms, model in model_gap():
        if ms in gap:
            yield f"apart after {ms:g} ms, Gb/s", gap[ms], model, model - 4, model + 4


def main():
    build, folder = sys.argv[1:]
    ours, missed = read_ours(build), 0
    os.makedirs(folder, exist_ok=True)
    for name, plot in plots(ours).items():
        with open(f"{folder}/{name}.svg", "w", encoding="utf-8") as file:
            file.write(plot.svg())
    print(f"{'':36}{'rig5':>10}{'model':>10}   bounds")
    for what, value, model, least, most in bounds(ours):
        ok = least <= value <= most
        missed += not ok
        print(f"{what:36}{value:10.4g}{model:10.4g}   {least:.4g} to {most:.4g}"
              f"{'' if ok else '   MISSED'}")
    print(f"Plots: {folder}")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
