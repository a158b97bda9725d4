#!/usr/bin/env python3
"""Writes scenes/soft_bubble_teddy.yaml, scenes/dough_bubble.yaml, and the meshes of the bear and of the bubble in
scenes/meshes/soft_bubble.

    python3 scenes/tools/make_soft_bubble.py
"""

import math
import pathlib

from make_shakes import entry, number, shake
from stuffing import quality, stuff, vtk

SCENES = pathlib.Path(__file__).resolve().parents[1]

# the bear, of height about 1, facing +y: ellipsoids (centre, radii) and capsules (ends, radius)
ELLIPSOIDS = [((0, 0, 0.35), (0.25, 0.22, 0.33)),   # trunk
              ((0, 0.02, 0.78), (0.22, 0.20, 0.20)),  # head
              ((0, 0.20, 0.74), (0.09, 0.09, 0.08))]  # snout
CAPSULES = [((-0.17, 0.01, 0.93), (-0.18, 0.01, 0.95), 0.085), ((0.17, 0.01, 0.93), (0.18, 0.01, 0.95), 0.085),  # ears
            ((-0.20, 0.02, 0.52), (-0.34, 0.10, 0.40), 0.095), ((0.20, 0.02, 0.52), (0.34, 0.10, 0.40), 0.095),  # arms
            ((-0.14, 0.06, 0.13), (-0.21, 0.28, 0.11), 0.115), ((0.14, 0.06, 0.13), (0.21, 0.28, 0.11), 0.115)]  # legs
BLEND = 0.04  # rounds the seams
HEIGHT = 0.11  # [m]


def bear(p):
    parts = []
    for center, radii in ELLIPSOIDS:
        x = [(a - c) / r for a, c, r in zip(p, center, radii)]
        g = math.hypot(*(a / r for a, r in zip(x, radii)))
        parts.append((math.hypot(*x) - 1) * (math.hypot(*x) / g if g > 0 else min(radii)))
    for a, b, radius in CAPSULES:
        d = [y - x for x, y in zip(a, b)]
        s = min(1.0, max(0.0, sum((x - y) * z for x, y, z in zip(p, a, d)) / sum(z * z for z in d)))
        parts.append(math.dist(p, [x + s * z for x, z in zip(a, d)]) - radius)
    joined = -BLEND * math.log(sum(math.exp(-x / BLEND) for x in parts))
    # it sits flat
    return max(joined, 0.06 - p[2])


# half an ellipsoid: half axes along x and y, and height, of the bubble that hovers over its base at z = 0 [m]
BUBBLE = (0.0405, 0.057, 0.037)


def bubble(p):
    x = [a / r for a, r in zip(p, BUBBLE)]
    g = math.hypot(*(a / r for a, r in zip(x, BUBBLE)))
    dome = (math.hypot(*x) - 1) * (math.hypot(*x) / g if g > 0 else 1)
    return max(dome, -p[2])


OPEN, CLOSED, LIFT = 0.095, 0.063, 0.18  # of a bubble's base from the middle, and upwards [m]
TABLE = 0.0
GRIP_HEIGHT = 0.045                      # of the middle of the bubbles over the table [m]

HEAD = """\
# A gripper with soft bubbles closes on a teddy bear, lifts it, shakes it by ± 5 cm at 2 Hz for 5 s sideways and for 5 s
# up and down, and puts it back on the table (Han et al. 2023, §VII-C and Fig. 6). The bases of the bubbles are attached
# to the fingers, which are scripted; the bear is held by contact alone.
# To see: bubbles and bear deform, the bear swings but does not slip; it stays on the table when the gripper has left.
# Made by scenes/tools/make_soft_bubble.py.
name: soft_bubble_teddy
time_step: 0.02
contact: {friction: 1.0, patches: POLYGONS}
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
"""
FINGER = """\
  - name: finger_SIDE
    rigid:
      motion: KINEMATIC
      pose: {position: [X, 0, Z]}
      shapes:
        - {box: {size: [DEPTH, 0.12, 0.086]}, pose: {position: [BACK, 0, 0]}}
        - {box: {size: [DEPTH, NECK, 0.06]}, pose: {position: [BACK, 0, 0.073]}}
  - name: bubble_SIDE
    deformable:
      mesh: {file: meshes/soft_bubble/bubble.vtk}
      pose: {position: [X, 0, Z], rpy_degrees: [0, TURN, 0]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 5.0e4, poissons_ratio: 0.3, density: 100}
      damping: {beta: 0.01}
      attachments: [{to: finger_SIDE, within: {box: {size: [1, 1, 1.0e-6]}}}]
"""
PALM = """\
  - name: palm
    rigid:
      motion: KINEMATIC
      pose: {position: [0, 0, PALM]}
      shapes: [{box: {size: [WIDTH, 0.07, 0.05]}}]
"""
PAIRS = """\
pairs:
  - {bodies: [bubble_left, finger_left], enabled: false}
  - {bodies: [bubble_right, finger_right], enabled: false}
script:
"""
BEAR = """\
  - name: bear
    deformable:
      mesh: {file: meshes/soft_bubble/bear.vtk}
      pose: {position: [0, 0, BEAR]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e4, poissons_ratio: 0.4, density: 100}
      damping: {beta: 0.01}
"""
BEAR_PROBES = """\
probes:
  - {name: bear, position: {body: bear}}
  - {name: gripper, position: {body: palm}}
  - {name: grip, contact_force: {body: bear, with: bubble_left}}
  - {name: strain, field: {body: bear, measure: VON_MISES_STRAIN, reduce: MAX}}
  - {name: volume_ratio, field: {body: bear, measure: VOLUME_RATIO, reduce: MIN}}
"""


DOUGH_HEAD = """\
# A gripper with soft bubbles closes on a block of dough, lifts it from the table, shakes it sideways by ± 2 cm at 2 Hz and
# holds it by friction (with the bubbles of Han et al. 2023, §VII-C, and the dough of Zong et al. 2024, §VII-B).
# To see: the bubbles flatten and leave dents in the dough, which sinks by 3 mm as its weight shears them, but does not slip;
# with --set contact.friction=0.02 it slips from between them and stays on the table.
# Made by scenes/tools/make_soft_bubble.py.
name: dough_bubble
time_step: 0.01
grid: {cell_size: 0.016}
contact: {friction: 1}
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
"""
DOUGH = """\
  - name: dough
    particles:
      fill: {box: {size: [0.08, 0.08, 0.08]}}
      per_cell: 8
      pose: {position: [0, 0, 0.04]}
      material: {model: VON_MISES, youngs_modulus: 1.0e5, poissons_ratio: 0.2, yield_stress: 6000, density: 1000}
"""
DOUGH_PROBES = """\
probes:
  - {name: dough, position: {body: dough}}
  - {name: lowest, extent: {body: dough, direction: [0, 0, -1], quantile: 0.95}}
  - {name: gripper, position: {body: palm}}
  - {name: grip, contact_force: {body: dough, with: bubble_left}}
  - {name: table, contact_force: {body: dough, with: table}}
  - {name: support, contact_force: {body: dough}}   # by all that touches it
  - {name: bubble, field: {body: bubble_left, measure: VON_MISES_STRAIN, reduce: MAX}}
  - {name: volume, volume: {body: dough}}
  - {name: plastic, field: {body: dough, measure: PLASTIC_STRAIN, reduce: MAX}}
"""
PALM_HEIGHT = GRIP_HEIGHT + 0.128  # [m]


def gripper(depth, neck, width):
    """Fingers of a depth, with bubbles, on necks; and a palm of a width [m]."""
    text = ""
    for side, sign in (("left", -1), ("right", 1)):
        text += (FINGER.replace("SIDE", side).replace("X", number(sign * OPEN)).replace("Z", number(GRIP_HEIGHT))
                 .replace("BACK", number(sign * depth / 2)).replace("DEPTH", number(depth)).replace("NECK", number(neck))
                 .replace("TURN", number(-sign * 90)))
    return text + PALM.replace("PALM", number(PALM_HEIGHT)).replace("WIDTH", number(width))


def motion(path):
    """Script of a path: time, offset of the gripper along y and z, distance of each finger from the middle."""
    text, times = "", [t for t, *_ in path]
    for name, place in (("finger_left", lambda y, z, d: (-d, y, GRIP_HEIGHT + z)), ("finger_right", lambda y, z, d: (d, y, GRIP_HEIGHT + z)),
                        ("palm", lambda y, z, d: (0, y, PALM_HEIGHT + z))):
        values = [f"[{', '.join(number(x) for x in place(*offset))}]" for _, *offset in path]
        text += entry(f"{{pose: {name}}}", times, values)
    return text


def teddy():
    # close, lift, two shakes, put down, open, leave
    path = [(0, 0, 0, OPEN), (0.3, 0, 0, OPEN), (1.3, 0, 0, CLOSED), (1.5, 0, 0, CLOSED), (2.7, 0, LIFT, CLOSED)]
    times, offsets = shake(3.2, 0.05)
    path += [(t, y, LIFT, CLOSED) for t, y in zip(times, offsets)]
    times, offsets = shake(8.7, 0.05)
    path += [(t, 0, LIFT + z, CLOSED) for t, z in zip(times, offsets)]
    path += [(14.2, 0, LIFT, CLOSED), (15.4, 0, 0.0, CLOSED), (15.8, 0, 0.0, CLOSED), (16.6, 0, 0.0, OPEN), (17.4, 0, LIFT, OPEN)]
    return HEAD + gripper(0.012, 0.03, 0.24) + BEAR.replace("BEAR", number(TABLE - 0.06 * HEIGHT)) + PAIRS + motion(path) + BEAR_PROBES


def dough():
    # close, lift, shake, hold
    lift = 0.12
    path = [(0, 0, 0, OPEN), (0.1, 0, 0, OPEN), (0.7, 0, 0, CLOSED), (0.8, 0, 0, CLOSED), (1.5, 0, lift, CLOSED)]
    times, offsets = shake(1.6, 0.02, 1.0)
    path += [(t, y, lift, CLOSED) for t, y in zip(times, offsets)]
    # fingers are thicker than two cells: dough on both sides of a thinner one would share grid nodes
    return DOUGH_HEAD + gripper(0.033, 0.033, 0.256) + DOUGH + PAIRS + motion(path) + DOUGH_PROBES


def main():
    folder = SCENES / "meshes" / "soft_bubble"
    folder.mkdir(parents=True, exist_ok=True)
    meshes = {"bear": (bear, (-0.6, -0.4, -0.1), (0.6, 0.6, 1.2), 0.115, HEIGHT),
              "bubble": (bubble, (-0.049, -0.0735, -0.0245), (0.06, 0.07, 0.05), 0.0245, 1.0)}
    for name, (distance, low, high, spacing, scale) in meshes.items():
        vertices, cells = stuff(distance, low, high, spacing)
        if name == "bubble":  # the base is flat to the last digit
            vertices = [(x, y, 0.0 if abs(z) < 1e-6 else z) for x, y, z in vertices]
        print(f"{name}: {len(vertices)} vertices, {len(cells)} tetrahedra, quality {quality(vertices, cells)}")
        vertices = [tuple(scale * x for x in p) for p in vertices]
        (folder / f"{name}.vtk").write_text(vtk(f"a {name}, made by scenes/tools/make_soft_bubble.py", vertices, cells))

    (SCENES / "soft_bubble_teddy.yaml").write_text(teddy())
    (SCENES / "dough_bubble.yaml").write_text(dough())


if __name__ == "__main__":
    main()
