#!/usr/bin/env python3
"""Writes scenes/water_pouring.yaml and the mesh of its mug: a KUKA iiwa 7 with an Allegro hand pours water from a mug into a bin
(Zong et al. 2024, §VII-D).

    python3 scenes/tools/make_pouring.py
"""

import math
import pathlib

from iiwa_motion import Arm, product, rotation, script, start

SCENES = pathlib.Path(__file__).resolve().parents[1]
RADIUS, HEIGHT, WALL, SIDES = 0.06, 0.18, 0.01, 48  # of the mug [m]

SCENE = """\
# A KUKA iiwa 7 with an Allegro hand lifts a mug of water off a stand and pours it into a bin (Zong et al. 2024, Figure 5). The water
# is as compressible as the paper's, which gives it two thirds of its height; stiffer: --set
# bodies[4].particles.material.bulk_modulus=2.0e5. To see: the hand holds the mug by friction, and the water ends in the bin. The mug's
# wall is thin for the grid, and `check` says so; here no water is on both sides of it.
# Made by scenes/tools/make_pouring.py.
name: water_pouring
time_step: 0.01
grid: {{cell_size: 0.024}}
contact: {{friction: 1}}
bodies:
  - {{name: floor, rigid: {{motion: FIXED, shapes: [{{half_space: {{}}}}]}}}}
  - {{name: stand, rigid: {{motion: FIXED, pose: {{position: [{x}, {y}, 0.1]}}, shapes: [{{cylinder: {{radius: 0.07, length: 0.2}}}}]}}}}
  - name: bin
    rigid:
      motion: FIXED
      pose: {{position: [{x}, {bin_y}, 0]}}
      shapes:
        - {{box: {{size: [0.36, 0.36, 0.05]}}, pose: {{position: [0, 0, 0.025]}}}}
        - {{box: {{size: [0.05, 0.36, 0.2]}}, pose: {{position: [-0.155, 0, 0.15]}}}}
        - {{box: {{size: [0.05, 0.36, 0.2]}}, pose: {{position: [0.155, 0, 0.15]}}}}
        - {{box: {{size: [0.26, 0.05, 0.2]}}, pose: {{position: [0, -0.155, 0.15]}}}}
        - {{box: {{size: [0.26, 0.05, 0.2]}}, pose: {{position: [0, 0.155, 0.15]}}}}
  - name: mug
    rigid: {{motion: FREE, mass: 0.3, pose: {{position: [{x}, {y}, 0.2]}}, shapes: [{{mesh: {{file: meshes/mug/mug.obj}}}}]}}
  - name: water
    particles:
      fill: {{cylinder: {{radius: 0.049, length: 0.162}}}}
      pose: {{position: [{x}, {y}, 0.292]}}
      material: {{model: LIQUID, bulk_modulus: 100, gamma: 7, viscosity: 0.001, density: 1000}}
pairs:
  - {{bodies: [water, mug], friction: 0.1}}
  - {{bodies: [water, bin], friction: 0.1}}
robots:
  - name: robot
    file: robots/iiwa7_allegro.urdf
    joint_positions:
      {{{joints}, {fingers}}}
    actuators:
      - {{joint: "iiwa_joint_.*", pd: {{stiffness: 5000, damping: 300, gravity_compensation: true}}}}
      - {{joint: "(index|middle|ring|thumb)_joint_[0-3]", pd: {{stiffness: 5, damping: 0.2, gravity_compensation: true}}, effort_limit: 0.7}}
    controllers:
      - {{name: tool, differential_ik: {{link: iiwa_flange}}}}
script:
{script}probes:
  - {{name: poured, mass_within: {{body: water, box: {{size: [0.36, 0.36, 0.25], pose: {{position: [{x}, {bin_y}, 0.125]}}}}}}}}
  - {{name: mug, position: {{body: mug}}}}
  - {{name: palm, position: {{link: robot/allegro_palm, point: [0, 0, 0]}}}}
  - {{name: grip, contact_force: {{body: robot/thumb_tip, with: mug}}}}
  - {{name: water, position: {{body: water}}}}
"""
# joints of the fingers, open and closed [rad]
FINGERS = {f"{name}_joint_{k}": (open_, closed)
           for name in ("index", "middle", "ring")
           for k, open_, closed in ((1, 0.0, 0.7), (2, 0.0, 1.2), (3, 0.0, 1.2))}
FINGERS |= {"thumb_joint_0": (1.2, 1.39), "thumb_joint_1": (0.3, 0.3), "thumb_joint_2": (-0.15, 0.9), "thumb_joint_3": (-0.15, 1.2)}
HELD = (0.0725, -0.009)  # the mug's axis in the palm's frame: off the palm and towards the fingers [m]


def mug():
    """A turned profile: outside, rim, inside; the base is at z = 0."""
    profile = [(0, 0), (RADIUS, 0), (RADIUS, HEIGHT), (RADIUS - WALL, HEIGHT), (RADIUS - WALL, WALL), (0, WALL)]
    vertices, faces, rings = [], [], []
    for r, z in profile:
        count = 1 if r == 0 else SIDES
        rings.append(range(len(vertices), len(vertices) + count))
        vertices += [(r * math.cos(2 * math.pi * i / SIDES), r * math.sin(2 * math.pi * i / SIDES), z) for i in range(count)]
    for a, b in zip(rings, rings[1:]):
        for i in range(SIDES):
            j = (i + 1) % SIDES
            if len(a) == 1:
                faces.append((a[0], b[j], b[i]))
            elif len(b) == 1:
                faces.append((a[i], a[j], b[0]))
            else:
                faces += [(a[i], a[j], b[j]), (a[i], b[j], b[i])]
    return vertices, faces


def main():
    vertices, faces = mug()
    folder = SCENES / "meshes" / "mug"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# a mug, made by scenes/tools/make_pouring.py"]
    lines += ["v " + " ".join(f"{x + 0:.7g}" for x in p) for p in vertices]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    (folder / "mug.obj").write_text("\n".join(lines) + "\n")

    x, y = 0.78, 0.0
    upright = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]  # fingers along x, palm towards y
    tilted = lambda degrees: product(rotation("x", -math.radians(degrees)), upright)
    # the tool is the point of the hand about which the mug is held
    arm = Arm([0, 0, 0], 0, [HELD[0], 0, 0.095 + HELD[1]])
    pose = lambda time, dy, z, begin=0, end=0: (time, [x, y + dy, z], lambda s: tilted(begin + s * (end - begin)))
    poses = [pose(0, 0, 0.29), pose(0.9, 0, 0.29), pose(1.5, 0.0, 0.45), pose(2.1, 0.12, 0.45), pose(3.0, 0.12, 0.45, 0, 90),
             pose(4, 0.12, 0.45, 90, 150), pose(5, 0.12, 0.45, 150, 150)]
    times, values = arm.follow(poses, [0, 1.2, 0, -1.6, 0, -1.2, 1.57])
    lines = script("robot", times, values)
    for joint, (open_, closed) in FINGERS.items():
        if open_ != closed:
            lines += f"  - {{target: {{joint: robot/{joint}}}, times: [0.1, 0.7], values: [{open_:g}, {closed:g}]}}\n"
    (SCENES / "water_pouring.yaml").write_text(SCENE.format(
        x=x, y=y, bin_y=y + 0.3, joints=start(values[0]), script=lines,
        fingers=", ".join(f"{joint}: {open_:g}" for joint, (open_, _) in FINGERS.items())))


if __name__ == "__main__":
    main()
