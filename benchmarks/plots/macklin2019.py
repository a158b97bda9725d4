#!/usr/bin/env python3
"""Draws docs/images/macklin2019_*.svg, after Figs. 11, 12, 16, 17 and 18 of Macklin et al. 2019, from the measurements
of the suite:

    ./dev bench figures --json figures.json && python3 benchmarks/plots/macklin2019.py figures.json
"""

import argparse
import json
import pathlib

from drawing import COLOURS, Axes, panels

FLOOR = 1e-17  # smaller values are drawn at this one
PLACES = {"arch": "the arch of twenty stones", "stack": "the stack of 8 to 32 768 kg, gravity leaning", "pile": "the heap of tables",
          "beam": "the beam in the slot"}


def draw_curves(rows, figure, name, x_label, y_label, least=1e-16, most=None):
    """One panel per place, with one curve per variant."""
    rows = [r for r in rows if r["figure"] == figure and r["residuals"]]
    ways = list(dict.fromkeys(r["way"] for r in rows))
    axes = []
    for place in dict.fromkeys(r["place"] for r in rows):
        here = [r for r in rows if r["place"] == place]
        values = [max(v, least) for r in here for v in r["residuals"]]
        a = Axes(PLACES[place], x_label, y_label, [0, max(len(r["residuals"]) - 1 for r in here)],
                 [min(values), min(max(values), most or max(values))], log="y")
        for r in here:
            points = [(k, min(max(v, least), most or v)) for k, v in enumerate(r["residuals"])]
            # the step keeps its best iterate, so draw the running minimum
            best = [(k, min(v for _, v in points[:k + 1])) for k, _ in points]
            a.line(best, COLOURS[ways.index(r["way"])], dots=len(points) < 8)
            if best != points:
                a.line(points, COLOURS[ways.index(r["way"])], dots=False, faint=True)
        axes.append(a)
    if axes:
        panels(name, axes, [(way, COLOURS[k], "") for k, way in enumerate(ways)])


def draw_quartiles(rows, figure, name, titles, y_label):
    """One panel per variant: the median, and the band from the first to the third quartile."""
    rows = [r for r in rows if r["figure"] == figure]
    if not rows:
        return
    values = [max(v, FLOOR) for r in rows for q in r["quartiles"] for v in q]
    axes = []
    for r in rows:
        a = Axes(titles[r["way"]], "Newton iteration", y_label, [0, max(len(o["quartiles"]) for o in rows) - 1],
                 [min(values), max(values)], log="y")
        clip = [[max(v, FLOOR) for v in q] for q in r["quartiles"]]
        a.band([(k, q[0], q[2]) for k, q in enumerate(clip)], COLOURS[0])
        a.line([(k, q[1]) for k, q in enumerate(clip)], COLOURS[0], dots=False)
        axes.append(a)
    panels(name, axes, [(f"median of {rows[0]['steps']} steps, and their quartiles", COLOURS[0], "")])


def main():
    parser = argparse.ArgumentParser(description="Draws the figures of docs/benchmarks.md on Macklin et al. 2019.")
    parser.add_argument("report", type=pathlib.Path, help="what ./dev bench figures --json wrote")
    rows = json.loads(parser.parse_args().report.read_text())["rows"]
    draw_curves(rows, "linear", "macklin2019_linear", "linear iteration", "relative residual of the first linear system", 1e-10, 10)
    draw_curves(rows, "newton", "macklin2019_newton", "Newton iteration of 40 linear ones", "residual [m]")
    draw_curves(rows, "preconditioner", "macklin2019_preconditioner", "Newton iteration of 40 of PCR", "residual [m]")
    draw_quartiles(rows, "stiffness", "macklin2019_stiffness",
                   {"without geometric stiffness": "Without geometric stiffness", "with geometric stiffness": "With it"}, "residual [m]")
    draw_quartiles(rows, "quartiles", "macklin2019_quartiles", {"identity": "r = 1", "effective mass": "r by the effective mass"}, "residual [m]")


main()
