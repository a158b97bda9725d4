#!/usr/bin/env python3
"""Draws docs/images/impact_phases.svg: rebound velocity and overlap of a cube against the phase of the step at impact.

    python3 benchmarks/plots/impact.py build/release/bin/pliantd --before OLDER_PLIANTD

A cube of 10 cm meets the ground at 3 m/s, with steps of 10 ms. Runs each program once per phase and method.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from drawing import COLOURS, Axes, panels

SPEED, STEP, PHASES, METHODS = 3.0, 0.01, 50, ["convex", "corrective", "nonsmooth"]
SCENE = """
name: impact
time_step: {h}
sleeping: false
bodies:
  - {{name: ground, rigid: {{motion: FIXED, shapes: [{{half_space: {{}}}}]}}}}
  - name: cube
    rigid: {{motion: FREE, density: 1000, shapes: [{{box: {{size: [0.1, 0.1, 0.1]}}}}],
            pose: {{position: [0, 0, {z}]}}, velocity: {{linear: [0, 0, {v}]}}}}
probes:
  - {{name: position, position: {{body: cube}}}}
  - {{name: velocity, velocity: {{body: cube}}}}
"""


def fall(program, method, phase, folder):
    """Largest upward velocity [m/s] and largest overlap [mm]."""
    scene = pathlib.Path(folder) / "impact.yaml"
    scene.write_text(SCENE.format(h=STEP, z=0.05 + (2 + phase) * STEP * SPEED, v=-SPEED))
    run = subprocess.run([program, "run", scene, "--method", method, "--duration", "0.3", "--threads", "1", "--json", "-"],
                         capture_output=True, text=True, check=True)
    probes = json.loads(run.stdout)["probes"]
    return (max(v[2] for v in probes["velocity"]["value"]), 1e3 * max(0.05 - p[2] for p in probes["position"]["value"]))


def main():
    parser = argparse.ArgumentParser(description="Draws the figure of docs/methods.md on impacts.")
    parser.add_argument("pliantd", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path, help="an older pliantd, drawn dashed")
    options = parser.parse_args()
    programs = [(options.pliantd.resolve(), "")] + ([(options.before.resolve(), "5 3")] if options.before else [])
    phases = [(k + 0.5) / PHASES for k in range(PHASES)]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for program, dash in programs:
            for method in METHODS:
                results[method, dash] = [fall(program, method, phase, folder) for phase in phases]
    axes = []
    for k, label in enumerate(["fastest velocity upwards [m/s]", "largest overlap [mm]"]):
        every = [r[k] for values in results.values() for r in values]
        a = Axes("A cube meets the ground at 3 m/s, h = 10 ms", "part of the step at which it arrives", label, [0, 1], [0] + every)
        for (method, dash), values in results.items():
            a.line([(phase, max(0, r[k])) for phase, r in zip(phases, values)], COLOURS[METHODS.index(method)], dash=dash, dots=False)
        axes.append(a)
    panels("impact_phases", axes, [(m, COLOURS[k], "") for k, m in enumerate(METHODS)] + [("before", "#555555", "5 3")])
    for (method, dash), values in results.items():
        print(method, "before" if dash else "now", "rebound", max(r[0] for r in values), "overlap", max(r[1] for r in values))


main()
