#!/usr/bin/env python3
"""Writes scenes/table_pile.yaml: 54 tables tipped onto a heap (Macklin et al. 2019, §10.1.5: 4.7 kg each, friction 0.7).

The tables are laid one after the other, at seeded positions and attitudes, as low as the ones before allow: they lie apart
at the start and fall a short way.

    python3 scenes/tools/make_table_pile.py
"""

import itertools
import math
import pathlib
import random

SCENES = pathlib.Path(__file__).resolve().parents[1]
TABLES, MASS, FRICTION = 54, 4.7, 0.7
TOP = (0.7, 0.5, 0.03)    # full lengths [m]
LEG = (0.045, 0.045, 0.42)
CLEARANCE = 0.01          # between tables at the start [m]
RADIUS = 1.2              # of the disc in which they are let go [m]
RISE = 0.02               # a table that does not fit is tried this much higher [m]

# (size, centre) of the top and the legs; the table's origin is the middle of its top's upper face
PARTS = [(TOP, (0, 0, -TOP[2] / 2))] + [
    (LEG, (sx * (TOP[0] - LEG[0]) / 2, sy * (TOP[1] - LEG[1]) / 2, -TOP[2] - LEG[2] / 2))
    for sx in (-1, 1) for sy in (-1, 1)]

HEAD = f"""\
# {TABLES} tables of {MASS} kg fall onto a heap, catch on each other's legs and come to rest (Macklin et al. 2019, §10.1.5 and
# Fig. 14): stick and slip between non-convex bodies. Made by scenes/tools/make_table_pile.py.
name: table_pile
time_step: 0.005
contact: {{friction: {FRICTION}}}
bodies:
  - {{name: ground, rigid: {{motion: FIXED, shapes: [{{half_space: {{}}}}]}}}}
  - name: table
    template: true
    rigid:
      motion: FREE
      mass: {MASS}
      shapes:
"""
TAIL = """\
probes:
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: potential, energy: {kind: POTENTIAL}}
  - {name: weight, contact_force: {body: ground}}
  - {name: penetration, penetration: {}}
  - {name: highest, position: {body: table_53}}
"""


def rotation(roll, pitch, yaw):
    """About fixed x, y, z [rad], as a list of rows."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr]]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def boxes(position, R):
    """The table's parts in the world: centre, axes, half lengths with half the clearance."""
    axes = [tuple(row[k] for row in R) for k in range(3)]
    return [(tuple(p + dot(row, center) for p, row in zip(position, R)), axes,
             tuple(s / 2 + CLEARANCE / 2 for s in size)) for size, center in PARTS]


def apart(a, b):
    """Whether a plane separates two boxes (the 15 candidate normals)."""
    d = tuple(y - x for x, y in zip(a[0], b[0]))
    if dot(d, d) > (math.hypot(*a[2]) + math.hypot(*b[2])) ** 2:
        return True
    for n in itertools.chain(a[1], b[1], (cross(u, v) for u in a[1] for v in b[1])):
        reach = sum(h * abs(dot(n, u)) for box in (a, b) for h, u in zip(box[2], box[1]))
        if abs(dot(d, n)) > reach + 1e-9:
            return True
    return False


def lowest(box):
    return box[0][2] - sum(h * abs(u[2]) for h, u in zip(box[2], box[1]))


def main():
    rng = random.Random(54)
    placed, poses = [], []
    for _ in range(TABLES):
        radius, angle = RADIUS * math.sqrt(rng.random()), rng.uniform(0, 2 * math.pi)
        upside_down = 180 if rng.random() < 0.35 else 0
        rpy = [round(rng.uniform(-20, 20) + upside_down), round(rng.uniform(-20, 20)), round(rng.uniform(-180, 180))]
        R = rotation(*(math.radians(a) for a in rpy))
        x, y, z = round(radius * math.cos(angle), 2), round(radius * math.sin(angle), 2), 0.0
        while True:
            parts = boxes((x, y, z), R)
            if min(map(lowest, parts)) > 0 and all(apart(a, b) for a in parts for b in placed):
                break
            z = round(z + RISE, 2)
        placed += parts
        poses.append(f"      - {{position: [{x:g}, {y:g}, {z:g}], rpy_degrees: [{rpy[0]}, {rpy[1]}, {rpy[2]}]}}\n")
    shapes = [f"        - {{box: {{size: [{s[0]:g}, {s[1]:g}, {s[2]:g}]}}, pose: {{position: [{c[0]:g}, {c[1]:g}, {c[2]:g}]}}}}\n"
              for s, c in PARTS]
    instances = "instances:\n  - of: table\n    poses:\n"
    (SCENES / "table_pile.yaml").write_text(HEAD + "".join(shapes) + instances + "".join(poses) + TAIL)


if __name__ == "__main__":
    main()
