#!/usr/bin/env python3
"""Writes scenes/arch.yaml and the voussoirs in scenes/meshes/arch.

The arch is the one of Han et al. 2023 §VII-B and of the papers before it: 25 blocks along a weighted catenary of 60 m
height and span, cut perpendicular to the centreline at equal arc lengths. A block has one thickness and depth; they fall
from 10 m at the springing to 7 m at the crown. The right half is the left half turned about the vertical.

    python3 scenes/tools/make_arch.py
"""

import math
import pathlib

SCENES = pathlib.Path(__file__).resolve().parents[1]

# centreline z = HEIGHT_0 − AMPLITUDE cosh(RATE x), |x| ≤ SPAN / 2 [m]
HEIGHT_0, AMPLITUDE, RATE, SPAN = 117.647155, 57.6471537, 0.0446735995, 60.0
# thickness and depth of the blocks from the springing to the crown [m]
SECTIONS = [9.99999956, 9.72636, 9.45366, 9.1821, 8.912, 8.64378, 8.37807, 8.1158, 7.85858, 7.60922, 7.37347, 7.16498, 7.02193]
BLOCKS = 2 * len(SECTIONS) - 1
DENSITY = 2300  # [kg/m³]
BASE = 10.0     # edge length of the cubes that carry the arch [m]

HEAD = """\
# A masonry arch of 25 rigid voussoirs, 60 m high, held up by contact alone. Its feet stand on the sharp edges of two
# blocks of rock (Han et al. 2023, §VII-B and Fig. 5). With friction 1.0 it stands; at 0.2 it falls apart:
#     pliantd run scenes/arch.yaml --duration 60 --set contact.friction=0.2
# Made by scenes/tools/make_arch.py.
name: arch
time_step: 0.04
method: {convex: {}}
contact: {friction: 1.0}
bodies:
  - {name: ground, rigid: {motion: FIXED, pose: {position: [0, 0, -10]}, shapes: [{half_space: {}}]}}
"""
TAIL = """\
probes:
  - {name: crown, position: {body: block_13}}
  - {name: springing, position: {body: block_01}}
  - {name: thrust, contact_force: {body: base_left}}   # force of the arch on its left base
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: penetration, penetration: {}}
"""


def height(x):
    return HEIGHT_0 - AMPLITUDE * math.cosh(RATE * x)


def arc_length(x0, x1, intervals=400):
    """By Simpson's rule."""
    h = (x1 - x0) / intervals
    speed = lambda x: math.hypot(1, AMPLITUDE * RATE * math.sinh(RATE * x))
    weights = (1 if i in (0, intervals) else 4 if i % 2 else 2 for i in range(intervals + 1))
    return h / 3 * sum(w * speed(x0 + i * h) for i, w in enumerate(weights))


def joints():
    """Abscissae of the joints of the left half, from the springing inwards, and the first beyond the crown."""
    step = arc_length(-SPAN / 2, SPAN / 2) / BLOCKS
    xs = [-SPAN / 2]
    for _ in SECTIONS:
        low, high = xs[-1], xs[-1] + step
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if arc_length(xs[-1], middle) < step else (low, middle)
        xs.append(0.5 * (low + high))
    return xs


def outline(x0, x1, section):
    """The four corners of a block in the plane of the arch: (x, z), intrados and extrados at both joints."""
    corners = []
    for x in (x0, x1):
        slope = -AMPLITUDE * RATE * math.sinh(RATE * x)
        n = (-slope / math.hypot(1, slope), 1 / math.hypot(1, slope))
        corners += [(x + s * section / 2 * n[0], height(x) + s * section / 2 * n[1]) for s in (-1, 1)]
    return corners


def centroid(corners):
    """Of the quadrilateral 0, 2, 3, 1."""
    ring = [corners[i] for i in (0, 2, 3, 1)]
    area = x = z = 0
    for (xa, za), (xb, zb) in zip(ring, ring[1:] + ring[:1]):
        cross = xa * zb - xb * za
        area, x, z = area + cross / 2, x + (xa + xb) * cross / 6, z + (za + zb) * cross / 6
    return x / area, z / area


def obj(corners, center, section):
    """A prism over the outline: eight vertices and six quadrilaterals, their normals outwards."""
    lines = ["# a voussoir, made by scenes/tools/make_arch.py"]
    for y in (-section / 2, section / 2):
        lines += [f"v {x - center[0]:.9g} {y:.9g} {z - center[1]:.9g}" for x, z in corners]
    lines += ["f 1 3 4 2", "f 5 6 8 7", "f 1 2 6 5", "f 3 7 8 4", "f 1 5 7 3", "f 2 4 8 6"]
    return "\n".join(lines) + "\n"


def block(index, mesh, position, turned):
    pose = f"position: [{round(position[0], 7) + 0:.9g}, 0, {position[1]:.9g}]" + (", rpy_degrees: [0, 0, 180]" if turned else "")
    return (f"  - {{name: block_{index:02d}, rigid: {{motion: FREE, density: {DENSITY}, pose: {{{pose}}}, "
            f"shapes: [{{mesh: {{file: meshes/arch/{mesh}, convex: true}}}}]}}}}\n")


def write_blocks(extension, to_text, block):
    """Writes the meshes of the left half to meshes/arch, as `to_text(corners, center, section)` has them; the text of the bases
    and blocks of a scene, each block as `block(index, mesh, position, turned)` has it."""
    folder = SCENES / "meshes" / "arch"
    folder.mkdir(parents=True, exist_ok=True)
    xs = joints()
    left, right = [], []
    for i, section in enumerate(SECTIONS):
        corners = outline(xs[i], xs[i + 1], section)
        center = centroid(corners)
        mesh = f"voussoir_{i + 1:02d}.{extension}"
        (folder / mesh).write_text(to_text(corners, center, section))
        left.append(block(i + 1, mesh, center, False))
        if i + 1 < len(SECTIONS):
            right.append(block(BLOCKS - i, mesh, (-center[0], center[1]), True))
    bases = [f"  - {{name: base_{side}, rigid: {{motion: FIXED, pose: {{position: [{sign * (SPAN + BASE) / 2:g}, 0, "
             f"{height(SPAN / 2) - BASE / 2:.6f}]}}, shapes: [{{box: {{size: [{BASE:g}, {BASE:g}, {BASE:g}]}}}}]}}}}\n"
             for side, sign in (("left", -1), ("right", 1))]
    return "".join(bases + left + right[::-1])


def main():
    (SCENES / "arch.yaml").write_text(HEAD + write_blocks("obj", obj, block) + TAIL)


if __name__ == "__main__":
    main()
