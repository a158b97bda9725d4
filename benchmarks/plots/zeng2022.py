#!/usr/bin/env python3
"""Draws docs/images/zeng2022_grip.svg, the error of a grip that turns by 18° per step, from the suite's measurements:

    ./dev bench figures --case grip --json grip.json && python3 benchmarks/plots/zeng2022.py grip.json
"""

import argparse
import json
import pathlib

from drawing import COLOURS, Axes, panels

DASHES = {"FAST": "", "STANDARD": "6 4", "SINGLE": ""}


def main():
    parser = argparse.ArgumentParser(description="Draws the figure of docs/methods.md on Zeng et al. 2022.")
    parser.add_argument("report", type=pathlib.Path, help="what ./dev bench figures --json wrote")
    rows = [r for r in json.loads(parser.parse_args().report.read_text())["rows"] if r["figure"] == "grip"]
    schemes = list(dict.fromkeys(r["way"] for r in rows))
    axes = []
    for sweeps in dict.fromkeys(r["place"] for r in rows):
        here = [r for r in rows if r["place"] == sweeps]
        every = [max(v, 1e-6) for r in rows for v in r["worst_error"]]
        a = Axes(f"{sweeps} sweeps a recursion", "recursions (for SINGLE: as many sweeps, in one)", "largest error of a pad's 10 N, relative",
                 [0, max(here[0]["iterations"])], every, log="y")
        for r in here:
            points = [(k, max(v, 1e-6)) for k, v in zip(r["iterations"], r["worst_error"])]
            a.line(points, COLOURS[schemes.index(r["way"])], dash=DASHES[r["way"]])
        axes.append(a)
    if axes:
        panels("zeng2022_grip", axes, [(s, COLOURS[k], DASHES[s]) for k, s in enumerate(schemes)])


main()
