#!/usr/bin/env python3
"""Writes scenes/parabolic_arch.yaml and its stones in scenes/meshes/parabolic_arch.

A parabola carries a load that is even along the horizontal by thrust alone. Twenty stones, cut perpendicular to it at equal
steps of the slope's angle, carry such a load when their thickness falls as the cosine of that angle; their masses then grow
from the crown to the feet as sec² does, 15 to 110 kg (Macklin et al. 2019, §10.1.5). The edges of their section are
chamfered, so that two stones meet in an octagon. The right half is the left half turned about the vertical.

    python3 scenes/tools/make_parabolic_arch.py
"""

import math
import pathlib

SCENES = pathlib.Path(__file__).resolve().parents[1]

STONES = 10                          # of a half
LIGHTEST, HEAVIEST = 15.0, 110.0     # [kg]
HALF_SPAN = 1.25                     # of the centreline [m]
THICKNESS, DEPTH = 0.4, 0.4          # at the crown [m]
CHAMFER = 0.2                        # of half the thickness and half the depth

HEAD = """\
# A parabolic arch of twenty stones of 15 to 110 kg that stands by friction of 0.6 (Macklin et al. 2019, §10.1.5 and
# Fig. 14). With relaxation methods it creeps and falls; Krylov methods hold it. At 0.2 its feet slip:
#     pliantd run scenes/parabolic_arch.yaml --duration 5 --set contact.friction=0.2
# Made by scenes/tools/make_parabolic_arch.py.
name: parabolic_arch
time_step: 0.008333333333333333
method: {nonsmooth: {friction: CONE}}
contact: {friction: 0.6}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
"""
TAIL = """\
probes:
  - {name: crown, position: {body: stone_10}}
  - {name: foot, position: {body: stone_01}}
  - {name: thrust, contact_force: {body: ground, with: stone_01}}   # force of the arch on the ground at its left foot
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: penetration, penetration: {}}
"""


def half():
    """(slope angle, x, z) of the joints from the crown to the foot; z = 0 at the foot."""
    # dx/dθ ∝ sec² θ: the mass of a stone is that of its middle. The last angle follows from the masses' ratio.
    low, high = 0.1, 1.5
    for _ in range(100):
        last = 0.5 * (low + high)
        step = last / STONES
        ratio = (math.tan(last) - math.tan(last - step)) / math.tan(step)
        low, high = (last, high) if ratio < HEAVIEST / LIGHTEST else (low, last)
    focal = HALF_SPAN / math.tan(last)   # x = focal tan θ, z = rise − x² / (2 focal)
    rise = HALF_SPAN**2 / (2 * focal)
    joints = [(k * last / STONES, focal * math.tan(k * last / STONES)) for k in range(STONES + 1)]
    return [(angle, x, rise - x * x / (2 * focal)) for angle, x in joints]


def edges(joint):
    """Intrados and extrados at a joint of the left half: (x, z)."""
    angle, x, z = joint
    reach = 0.5 * THICKNESS * math.cos(angle)
    n = (-math.sin(angle), math.cos(angle))
    return [(-x + s * reach * n[0], z + s * reach * n[1]) for s in (-1, 1)]


def outline(upper, lower, is_foot):
    """Intrados and extrados at the lower and the upper joint. A foot is cut by the ground."""
    top, bottom = edges(upper), edges(lower)
    if is_foot:
        bottom = [(a[0] + (b[0] - a[0]) * a[1] / (a[1] - b[1]), 0.0) for a, b in zip(top, bottom)]
    return bottom + top


def prism(corners):
    """Sixteen vertices: an octagon at each joint, and the vertices' faces."""
    rings = []
    for low, high in (corners[:2], corners[2:]):
        middle = [(a + b) / 2 for a, b in zip(low, high)]
        half_edge = [(b - a) / 2 for a, b in zip(low, high)]
        at = lambda s, y: (middle[0] + s * half_edge[0], y * DEPTH / 2, middle[1] + s * half_edge[1])
        c = 1 - CHAMFER
        rings.append([at(s, y) for s, y in ((1, -c), (1, c), (c, 1), (-c, 1), (-1, c), (-1, -c), (-c, -1), (c, -1))])
    faces = [list(range(7, -1, -1)), list(range(8, 16))]
    faces += [[k, (k + 1) % 8, 8 + (k + 1) % 8, 8 + k] for k in range(8)]
    return rings[0] + rings[1], faces


def volume_and_centroid(vertices, faces):
    volume, moment = 0.0, [0.0] * 3
    for face in faces:
        a = vertices[face[0]]
        for i in range(1, len(face) - 1):
            b, c = vertices[face[i]], vertices[face[i + 1]]
            six = (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]))
            volume += six / 6
            moment = [m + six / 24 * (x + y + z) for m, x, y, z in zip(moment, a, b, c)]
    return volume, [m / volume for m in moment]


def main():
    folder = SCENES / "meshes" / "parabolic_arch"
    folder.mkdir(parents=True, exist_ok=True)
    joints = half()
    load = HEAVIEST / (joints[-1][1] - joints[-2][1])   # [kg/m], along the horizontal
    left, right = [], []
    for k in range(STONES):
        vertices, faces = prism(outline(joints[k], joints[k + 1], k + 1 == STONES))
        volume, center = volume_and_centroid(vertices, faces)
        if volume < 0:
            faces = [face[::-1] for face in faces]
        number = STONES - k
        lines = ["# a stone, made by scenes/tools/make_parabolic_arch.py"]
        lines += ["v " + " ".join(f"{x - c + 0:.9g}" for x, c in zip(v, center)) for v in vertices]
        lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
        mesh = f"stone_{number:02d}.obj"
        (folder / mesh).write_text("\n".join(lines) + "\n")
        mass = load * (joints[k + 1][1] - joints[k][1])
        for name, sign, turn, to in ((number, 1, "", left), (2 * STONES + 1 - number, -1, ", rpy_degrees: [0, 0, 180]", right)):
            to.append(f"  - {{name: stone_{name:02d}, rigid: {{motion: FREE, mass: {mass:.6g}, "
                      f"pose: {{position: [{sign * center[0]:.9g}, 0, {center[2]:.9g}]{turn}}}, "
                      f"shapes: [{{mesh: {{file: meshes/parabolic_arch/{mesh}, convex: true}}}}]}}}}\n")
    (SCENES / "parabolic_arch.yaml").write_text(HEAD + "".join(left[::-1] + right) + TAIL)


if __name__ == "__main__":
    main()
