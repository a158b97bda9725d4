#!/usr/bin/env python3
"""Writes scenes/soft_bubble_teddy.yaml and the meshes of the bear and of the bubble in scenes/meshes/soft_bubble.

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
        - {box: {size: [0.012, 0.12, 0.086]}, pose: {position: [BACK, 0, 0]}}
        - {box: {size: [0.012, 0.03, 0.06]}, pose: {position: [BACK, 0, 0.073]}}
  - name: bubble_SIDE
    deformable:
      mesh: {file: meshes/soft_bubble/bubble.vtk}
      pose: {position: [X, 0, Z], rpy_degrees: [0, TURN, 0]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 5.0e4, poissons_ratio: 0.3, density: 100}
      damping: {beta: 0.01}
      attachments: [{to: finger_SIDE, within: {box: {size: [1, 1, 1.0e-6]}}}]
"""
TAIL = """\
  - name: palm
    rigid:
      motion: KINEMATIC
      pose: {position: [0, 0, PALM]}
      shapes: [{box: {size: [0.24, 0.07, 0.05]}}]
  - name: bear
    deformable:
      mesh: {file: meshes/soft_bubble/bear.vtk}
      pose: {position: [0, 0, BEAR]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e4, poissons_ratio: 0.4, density: 100}
      damping: {beta: 0.01}
pairs:
  - {bodies: [bubble_left, finger_left], enabled: false}
  - {bodies: [bubble_right, finger_right], enabled: false}
script:
"""
PROBES = """\
probes:
  - {name: bear, position: {body: bear}}
  - {name: gripper, position: {body: palm}}
  - {name: grip, contact_force: {body: bear, with: bubble_left}}
  - {name: strain, field: {body: bear, measure: VON_MISES_STRAIN, reduce: MAX}}
  - {name: volume_ratio, field: {body: bear, measure: VOLUME_RATIO, reduce: MIN}}
"""


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

    text = HEAD
    for side, sign in (("left", -1), ("right", 1)):
        text += (FINGER.replace("SIDE", side).replace("X", number(sign * OPEN)).replace("Z", number(GRIP_HEIGHT))
                 .replace("BACK", number(sign * 0.006)).replace("TURN", number(-sign * 90)))
    palm = GRIP_HEIGHT + 0.128
    text += TAIL.replace("PALM", number(palm)).replace("BEAR", number(TABLE - 0.06 * HEIGHT))

    # close, lift, two shakes, put down, open, leave: offset of the gripper along y and z, and of each finger from the middle
    path = [(0, 0, 0, OPEN), (0.3, 0, 0, OPEN), (1.3, 0, 0, CLOSED), (1.5, 0, 0, CLOSED), (2.7, 0, LIFT, CLOSED)]
    times, offsets = shake(3.2, 0.05)
    path += [(t, y, LIFT, CLOSED) for t, y in zip(times, offsets)]
    times, offsets = shake(8.7, 0.05)
    path += [(t, 0, LIFT + z, CLOSED) for t, z in zip(times, offsets)]
    path += [(14.2, 0, LIFT, CLOSED), (15.4, 0, 0.0, CLOSED), (15.8, 0, 0.0, CLOSED), (16.6, 0, 0.0, OPEN), (17.4, 0, LIFT, OPEN)]
    times = [t for t, *_ in path]
    for name, place in (("finger_left", lambda y, z, d: (-d, y, GRIP_HEIGHT + z)), ("finger_right", lambda y, z, d: (d, y, GRIP_HEIGHT + z)),
                        ("palm", lambda y, z, d: (0, y, palm + z))):
        values = [f"[{', '.join(number(x) for x in place(*offset))}]" for _, *offset in path]
        text += entry(f"{{pose: {name}}}", times, values)
    (SCENES / "soft_bubble_teddy.yaml").write_text(text + PROBES)


main()
