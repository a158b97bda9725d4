#!/usr/bin/env python3
"""Draws docs/images/zong2024_*.svg, after Figures 3 and 6 of Zong et al. 2024, from the measurements of the suite. Several
reports are merged:

    ./dev bench zong2024 --json report.json && python3 benchmarks/plots/zong2024.py report.json
"""

import argparse
import json
import pathlib

from drawing import COLOURS, Axes, panels


def draw_ball(rows):
    """Figure 3: distances down the slope, with those of a rigid ball."""
    balls = [r for r in rows.values() if r["case"].startswith("ball_friction_")]
    if not balls:
        return
    end = max(r["t"][-1] for r in balls)
    axes = Axes("A ball on a slope of 45°", "time [s]", "distance [m]", [0, end], [0, max(max(r["distance"]) for r in balls)])
    for k, row in enumerate(balls):
        exact = [0.5 * row["acceleration"] * t * t for t in row["t"]]
        # the analytical line is thin and dark, on top of the wider one of the simulation
        axes.line(list(zip(row["t"], row["distance"])), COLOURS[k], f"μ = {row['friction']:g}, particles", 2 * k, dots=False)
        axes.line(list(zip(row["t"], exact)), "#333333", f"μ = {row['friction']:g}, rigid ball", 2 * k + 1, dash="4 3" if k else "1 3", dots=False)
    axes.save("zong2024_ball")


def draw_panels(rows):
    """Figure 6: forces of the cube on the left panel, implicit and explicit."""
    curves = [("panels_convex", "implicit, 10 ms"), ("panels_explicit_25", "explicit, 10 ms / 25"),
              ("panels_explicit_fine", "explicit, 1.25 ms / 25")]
    curves = [(rows[case], label) for case, label in curves if case in rows]
    if not curves:
        return
    end = curves[0][0]["t"][-1]
    axes = []
    for title, key, rest, high in (("Normal force on the left panel", "normal", 10, 20), ("Friction on the left panel", "friction", 1.962, 5.5)):
        a = Axes(title, "time [s]", "force [N]", [0, end], [min(0, *(f for row, _ in curves for f in row[key])), high])
        for k, (row, _) in reversed(list(enumerate(curves))):
            # at most 400 points a curve
            every = -(-len(row["t"]) // 400)
            a.line(list(zip(row["t"], row[key]))[::every], COLOURS[k], dots=False, faint=k != 0)
        a.line([(0, rest), (end, rest)], "#333333", dash="4 3", dots=False)
        axes.append(a)
    panels("zong2024_panels", axes, [(label, COLOURS[k], "") for k, (_, label) in enumerate(curves)] + [("at rest", "#333333", "4 3")])


def main():
    parser = argparse.ArgumentParser(description="Draws the figures of docs/benchmarks.md on Zong et al. 2024.")
    parser.add_argument("reports", type=pathlib.Path, nargs="+", help="reports written by ./dev bench zong2024 --json")
    rows = {r["case"]: r for path in parser.parse_args().reports for r in json.loads(path.read_text())["rows"] if "t" in r}
    for plot in (draw_ball, draw_panels):
        plot(rows)


main()
