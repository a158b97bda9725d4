#!/usr/bin/env python3
"""Draws docs/images/han2023_*.svg, after Figs. 2, 4, 7, 8 and 9 of Han et al. 2023, and prints the table of
docs/benchmarks.md, from the measurements of the suite:

    ./dev bench han2023 --json han2023.json && python3 benchmarks/plots/han2023.py han2023.json
"""

import argparse
import json
import pathlib

from drawing import COLOURS, WIDTH, Axes, svg, text


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
        # omit points beyond the axis range
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
        # with a step of one second the deformed bar is larger than the bar at rest, so scale to the points
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
