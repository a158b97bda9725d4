#!/usr/bin/env python3
"""Draws docs/images/larionov2023_*.svg, after Figures 5, 6, 8, 9 and 10 of Larionov et al. 2023, from the measurements
of the suite. Several reports are merged:

    ./dev bench larionov2023 --json report.json && python3 benchmarks/plots/larionov2023.py report.json
"""

import argparse
import json
import pathlib

from drawing import COLOURS, Axes, panels


def draw(name, x_label, y_label, plots):
    """Draws one panel per (title, curves). Curves are (label, x, y); equal labels have equal colours."""
    plots = [(title, curves) for title, curves in plots if curves]
    if not plots:
        return
    every = [c for _, curves in plots for c in curves]
    labels = list(dict.fromkeys(label for label, _, _ in every))
    low, high = min(min(y) for _, _, y in every), max(max(y) for _, _, y in every)
    axes = []
    for title, curves in plots:
        a = Axes(title, x_label, y_label, [0, max(max(x) for _, x, _ in every)], [min(0, low), high])
        for label, x, y in curves:
            a.line(list(zip(x, y)), COLOURS[labels.index(label)], dots=False)
        axes.append(a)
    panels(name, axes, [(label, COLOURS[k], "") for k, label in enumerate(labels)])


def draw_bowl(rows):
    here = [(*r["case"].split("_")[2:], r) for r in rows if r["case"].startswith("bowl_grasp_")]
    draw("larionov2023_bowl", "time [s]", "height of the bowl [mm]",
         [(f"{kind.lower()} friction",
           [(f"{1e3 * float(h):g} ms", r["t"], [1e3 * p[2] for p in r["bowl_position"]])
            for friction, h, r in here if friction == kind])
          for kind in ("IMPLICIT", "LAGGED")])


def draw_box(rows):
    row = next((r for r in rows if r["case"] == "ball_in_box"), None)
    if row:
        # subtract the initial energy of the box, which is potential
        rest = row["box_energy"][0]
        draw("larionov2023_box", "time [s]", "energy [mJ]",
             [("Ball in a box", [("ball and box", row["t"], [1e3 * (e - rest) for e in row["energy"]]),
                                 ("ball", row["t"], [1e3 * e for e in row["ball_energy"]])])])


def draw_squish(rows):
    modulus = {"a": (101325, "like air"), "b": (1.01325e7, "like water"), "d": (1, "empty")}
    draw("larionov2023_squish", "time [s]", "volume lost [%]",
         [("Ball squish, 1 K tetrahedra",
           [(modulus[table][1], r["t"], [100 * p / modulus[table][0] for p in r["pressure"]])
            for table in "abd" for r in rows if r["case"] == f"squish_{table}_1k_direct"])])


def draw_tennis(rows):
    gauges = {"101325": "1 atm more inside", "0": "no pressure"}
    wall = [(gauges[r["case"].split("_")[2]], r) for r in rows if r["case"].startswith("tennis_ball_")]
    draw("larionov2023_wall", "time [ms]", "velocity [m/s]",
         [("Tennis ball at a wall",
           [(label, [1e3 * t for t in r["t"]], [v[0] for v in r["ball_velocity"]]) for label, r in wall])])
    drops = {r["case"]: ([1e3 * t for t in r["t"]], [v[2] for v in r["ball_velocity"]])
             for r in rows if "ball_velocity" in r}
    gas = [("1 atm", "tennis_drop_full"), ("no pressure", "tennis_drop_empty")]
    damped = [("SDIRK2", "tennis_drop_full"), ("BDF2", "tennis_drop_BDF2"), ("BE", "tennis_drop_BE")]
    undamped = [(name, f"tennis_undamped_{name}") for name in ("SDIRK2", "BDF2", "BE")]
    draw("larionov2023_drop", "time [ms]", "velocity [m/s]",
         [(title, [(label, *drops[case]) for label, case in curves if case in drops])
          for title, curves in (("Tennis ball on the ground", gas), ("1 atm, by integrator", damped),
                                ("The same, undamped rubber", undamped))])


def main():
    parser = argparse.ArgumentParser(description="Draws the figures of docs/benchmarks.md on Larionov et al. 2023.")
    parser.add_argument("reports", type=pathlib.Path, nargs="+", help="reports written by ./dev bench larionov2023 --json")
    rows = [r for path in parser.parse_args().reports for r in json.loads(path.read_text())["rows"] if "t" in r]
    for plot in (draw_bowl, draw_box, draw_squish, draw_tennis):
        plot(rows)


main()
