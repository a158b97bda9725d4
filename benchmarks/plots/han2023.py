#!/usr/bin/env python3
"""Draws docs/images/han2023_*.svg, in the manner of Figs. 2, 4, 7, 8 and 9 of Han et al. 2023, and prints the table of
docs/benchmarks.md, from what the suite measured:

    ./dev bench han2023 --json han2023.json && python3 benchmarks/plots/han2023.py han2023.json
"""

import argparse
import json
import math
import pathlib

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images"
COLOURS = ["#3b6ea5", "#d1793b", "#5c9e5c", "#b04a4a", "#7d64a8", "#8a8a8a", "#c2a83e", "#4aa5a5"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520, 340, 64, 48, 30, 18


def svg(name, body, width=WIDTH, height=HEIGHT):
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'


class Axes:
    def __init__(self, title, x_label, y_label, xs, ys, log=False):
        self.log = log
        scale = math.log10 if log else float
        self.scale = scale
        self.x = (min(map(scale, xs)), max(map(scale, xs)))
        self.y = (min(map(scale, ys)), max(map(scale, ys)))
        if log:
            self.x, self.y = ((math.floor(a + 1e-9), math.ceil(b - 1e-9)) for a, b in (self.x, self.y))
        self.body = [text(WIDTH / 2, 18, title, extra='font-weight="bold"'), text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label),
                     text(0, 0, y_label, extra=f'transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'),
                     f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" fill="none" stroke="#999"/>']
        for value in self.ticks(self.x):
            x, _ = self.at(value, ys[0])
            self.body += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>',
                          text(x, HEIGHT - BOTTOM + 16, f"{value:g}")]
        for value in self.ticks(self.y):
            _, y = self.at(xs[0], value)
            self.body += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>',
                          text(LEFT - 6, y + 4, f"{value:g}", "end")]

    def ticks(self, extent):
        if self.log:
            return [10.0 ** k for k in range(extent[0], extent[1] + 1)]
        raw = (extent[1] - extent[0]) / 5 or 1
        unit = 10 ** math.floor(math.log10(raw))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw)
        return [k * step for k in range(math.ceil(extent[0] / step - 1e-9), math.floor(extent[1] / step + 1e-9) + 1)]

    def at(self, x, y):
        share = lambda value, extent: (self.scale(value) - extent[0]) / ((extent[1] - extent[0]) or 1)
        return (LEFT + share(x, self.x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - share(y, self.y) * (HEIGHT - TOP - BOTTOM))

    def line(self, points, colour, label=None, place=0, dash="", dots=True):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*p) for p in points))
        self.body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}"/>')
        if dots:
            self.body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in (self.at(*p) for p in points)]
        if label:
            y = TOP + 16 + 16 * place
            self.body += [f'<line x1="{LEFT + 10}" x2="{LEFT + 34}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2" '
                          f'stroke-dasharray="{dash}"/>', text(LEFT + 40, y, label, "start")]

    def save(self, name):
        svg(name, self.body)


def draw_breakdown(rows):
    cases = [r for r in rows if "phases_ms" in r and "paper" in r]
    if not cases:
        return
    names = list(cases[0]["phases_ms"])
    body = [text(WIDTH / 2, 18, "Where the time of a step goes", extra='font-weight="bold"')]
    for k, row in enumerate(cases):
        y, total, x = 48 + 34 * k, sum(row["phases_ms"].values()) or 1, 150.0
        body.append(text(142, y + 14, row["case"], "end"))
        for name, colour in zip(names, COLOURS):
            width = 340 * row["phases_ms"][name] / total
            body.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{colour}"/>')
            x += width
    for k, (name, colour) in enumerate(zip(names, COLOURS)):
        body += [f'<rect x="{150 + 85 * k}" y="{54 + 34 * len(cases)}" width="12" height="12" fill="{colour}"/>',
                 text(168 + 85 * k, 64 + 34 * len(cases), name, "start")]
    svg("han2023_breakdown", body, height=84 + 34 * len(cases))


def draw_press(rows):
    curves = [(r["case"], r["curve"]) for r in rows if r.get("curve")]
    if not curves:
        return
    axes = Axes("Cylinder press", "displacement [m]", "force [MN/m]", [0, 0.22], [0, 1.45])
    for k, (name, curve) in enumerate(curves):
        # what has been let go is not drawn
        points = [(d, f / 1e6) for d, f in curve if d <= 0.22]
        locking = "locking" in name
        axes.line(points, COLOURS[k % 4], name.replace("press_", "").replace("_", " "), k, "4 3" if locking else "", False)
    for x, y in ((0.1, 0.25), (0.2, 1.4)):
        px, py = axes.at(x, y)
        axes.body.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="5" fill="none" stroke="black" stroke-width="2"/>')
    axes.save("han2023_press")


def draw_bars(rows):
    shapes = {r["case"]: r for r in rows if r.get("shape") and r["case"].startswith("bar_")}
    if not shapes:
        return
    body, width = [], 230
    for k, step in enumerate(("1s", "100ms", "10ms")):
        body.append(text(width * (k + 0.5), 18, {"1s": "1 s", "100ms": "100 ms", "10ms": "10 ms"}[step], extra='font-weight="bold"'))
        # what the step of one second makes of the bar is larger than the bar
        points = [p for kind in ("lagged", "classical") for t in shapes.get(f"bar_{kind}_{step}", {"shape": []})["shape"] for p in t]
        if not points:
            continue
        low, high = [min(p[c] for p in points) for c in (0, 1)], [max(p[c] for p in points) for c in (0, 1)]
        scale = min((width - 20) / (high[0] - low[0]), 250 / (high[1] - low[1]))
        for kind, colour in (("lagged", COLOURS[0]), ("classical", COLOURS[3])):
            for triangle in shapes.get(f"bar_{kind}_{step}", {"shape": []})["shape"]:
                path = " ".join(f"{width * k + 10 + scale * (x - low[0]):.1f},{34 + scale * (high[1] - z):.1f}" for x, z in triangle)
                body.append(f'<polygon points="{path}" fill="{colour}" fill-opacity="0.35" stroke="{colour}" stroke-width="0.5"/>')
    body.append(text(1.5 * width, 304, "blue: lagged corotational, red: classical; the bar after one second, each to its own scale"))
    svg("han2023_bar", body, 3 * width, 314)


def draw_growth(rows, prefix, by, title, name, x_label):
    cases = [r for r in rows if r["case"].startswith(prefix) and by in r and "step_ms" in r]
    if len(cases) < 2:
        return
    xs, ms = [r[by] for r in cases], [r["step_ms"]["median"] for r in cases]
    counts = [max(r["constraints_mean"], 1) for r in cases]
    both = ms + (counts if prefix == "chain_" else [])
    axes = Axes(title, x_label, "ms a step" + (", constraints" if prefix == "chain_" else ""), xs, both, log=True)
    axes.line(list(zip(xs, ms)), COLOURS[0], "ms a step, median", 0)
    axes.line([(xs[0], ms[0]), (xs[-1], ms[0] * xs[-1] / xs[0])], "#777", "linear", 1, "5 4", False)
    if prefix == "chain_":
        axes.line(list(zip(xs, counts)), COLOURS[1], "constraints, mean", 2)
    axes.save(name)


def draw_constraints(rows):
    cases = [r for r in rows if r.get("by_constraints") and r["case"] in ("teddy", "allegro_ball", "arch_friction_0.2", "chain_20")]
    points = [p for r in cases for p in r["by_constraints"] if p[0] > 0]
    if not points:
        return
    axes = Axes("A step against its number of constraints", "constraints", "ms a step", [0] + [p[0] for p in points], [0] + [p[1] for p in points])
    for k, row in enumerate(cases):
        axes.line([p for p in row["by_constraints"]], COLOURS[k], row["case"], k)
    axes.save("han2023_constraints")


def print_table(report):
    columns = [("case", "case"), ("DoFs", "dofs"), ("h [s]", "time_step"), ("steps", "steps"), ("median [ms]", None), ("p95 [ms]", None),
               ("mean [ms]", "mean_ms"), ("× real time", "real_time_rate"), ("constraints", "constraints_mean"), ("most", "constraints_max"),
               ("iterations", "iterations_mean"), ("converged", "converged_fraction"), ("stalled", "stalled_fraction"),
               ("MB", "memory_mb"), ("paper [ms]", "paper_ms"), ("paper's constraints", None), ("paper / ours", "ratio")]
    print("| " + " | ".join(head for head, _ in columns) + " |\n|" + " --- |" * len(columns))
    for row in report["rows"]:
        if "step_ms" not in row:
            continue
        cells = []
        for head, key in columns:
            if head.startswith("median"):
                value = row["step_ms"]["median"]
            elif head.startswith("p95"):
                value = row["step_ms"]["p95"]
            elif key is None:
                value = f"{row['paper']['constraints_mean']:g} ({row['paper']['constraints_max']})" if "paper" in row else ""
            else:
                value = row.get(key, "")
            cells.append(value if isinstance(value, str) else str(value) if isinstance(value, int) else f"{value:.4g}")
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description="Draws the plots of docs/benchmarks.md and prints its table.")
    parser.add_argument("report", type=pathlib.Path, nargs="+", help="what ./dev bench han2023 --json wrote; of several, all rows")
    given = parser.parse_args()
    report = json.loads(given.report[0].read_text())
    for path in given.report[1:]:
        report["rows"] += json.loads(path.read_text())["rows"]
    rows = report["rows"]
    draw_breakdown(rows)
    draw_press(rows)
    draw_bars(rows)
    draw_growth(rows, "chain_", "links", "Chains", "han2023_chain", "links")
    draw_growth(rows, "torus_", "dofs", "A torus refined", "han2023_torus", "degrees of freedom")
    draw_constraints(rows)
    print_table(report)


main()
