#!/usr/bin/env python3
"""Writes scenes/dough_rolling.yaml and scenes/dough_tearing.yaml: two KUKA iiwa 7 roll out a dough and tear one (Zong et al. 2024,
§VII-C and B).

    python3 scenes/tools/make_dough.py
"""

import math
import pathlib

from iiwa_motion import Arm, rotation, script, start, still

SCENES = pathlib.Path(__file__).resolve().parents[1]
ARM = """\
  - name: {name}
    file: robots/{file}.urdf
    pose: {{position: {position}, rpy_degrees: [0, 0, {yaw:g}]}}
    joint_positions:
      {{{joints}, wsg_left_joint: -{opening}, wsg_right_joint: {opening}}}
    actuators:
      - {{joint: "iiwa_joint_.*", pd: {{stiffness: {stiffness}, damping: {damping}, gravity_compensation: true}}}}
    controllers:
      - {{name: gripper, gripper: {{joints: [wsg_left_joint], max_force: {force}}}}}   # the right finger mirrors the left one
"""
DOWN = rotation("x", math.pi)  # the flange points down, its x is the world's

TEARING = """\
# Two KUKA iiwa 7 take a hard dough at both ends, lift it, tear it apart and lay the halves down (Zong et al. 2024, Figure 4).
# To see: the dough necks and breaks into two parts; without yield (yield_stress: 1.0e9) it is stretched and holds together.
# Made by scenes/tools/make_dough.py.
name: dough_tearing
time_step: 0.01
grid: {{cell_size: 0.0225}}
contact: {{friction: 10}}   # the dough sticks
bodies:
  - {{name: table, rigid: {{motion: FIXED, shapes: [{{half_space: {{}}}}]}}}}
  - name: dough
    particles:
      fill: {{box: {{size: [0.096, 0.32, 0.084]}}}}
      per_cell: 8
      pose: {{position: [0.555, 0.29, 0.042]}}
      material: {{model: VON_MISES, youngs_modulus: 1.0e5, poissons_ratio: 0.2, yield_stress: 6000, density: 1000}}
robots:
{robots}script:
{script}probes:
  - {{name: left_end, extent: {{body: dough, direction: [0, 1, 0], quantile: 0.95}}}}
  - {{name: right_end, extent: {{body: dough, direction: [0, -1, 0], quantile: 0.95}}}}
  - {{name: between, mass_within: {{body: dough, box: {{size: [0.6, 0.05, 1], pose: {{position: [0.555, 0.29, 0.4]}}}}}}}}
  - {{name: grip, contact_force: {{body: left/wsg_left_finger, with: dough}}}}
  - {{name: volume, volume: {{body: dough}}}}
  - {{name: plastic, field: {{body: dough, measure: PLASTIC_STRAIN, reduce: MAX}}}}
"""


ROLLING = """\
# Two KUKA iiwa 7 hold a rolling pin by its handles and roll out pizza dough, deeper with each pass (Zong et al. 2024,
# Figure 1; the pin's course is ours). To see: the grippers hold the handles by friction, and friction with the dough alone
# turns the roller, by nine tenths of the angle at which it would roll without slip: each pass thins the dough by about a
# tenth, which moves ahead of the pin by as much. The fingers are thin for the grid, and `check` says so; no dough comes
# near them.
# Made by scenes/tools/make_dough.py.
name: dough_rolling
time_step: 0.01
grid: {{cell_size: 0.018}}
contact: {{friction: 1}}
bodies:
  - {{name: table, rigid: {{motion: FIXED, shapes: [{{half_space: {{}}}}]}}}}
  - name: dough
    particles:
      fill: {{box: {{size: [0.32, 0.12, 0.1]}}}}
      per_cell: 8
      pose: {{position: [0, 0, 0.05]}}
      material: {{model: VON_MISES, youngs_modulus: 2.0e4, poissons_ratio: 0.49, yield_stress: 1000, density: 1000}}
pairs:
  - {{bodies: [pin/roller, dough], friction: 1}}
robots:
  - name: pin
    file: robots/rolling_pin.urdf
    base: FREE
    pose: {{position: [-0.08, 0, 0.14]}}
{robots}script:
{script}probes:
  - {{name: turned, joint: {{robot: pin, joint: roll, quantity: POSITION}}}}
  - {{name: pin, position: {{link: pin/roller, point: [0, 0, 0]}}}}
  - {{name: grip, contact_force: {{body: left/wsg_left_finger, with: pin/rod}}}}
  - {{name: press, contact_force: {{body: pin/roller, with: dough}}}}
  - {{name: volume, volume: {{body: dough}}}}
  - {{name: plastic, field: {{body: dough, measure: PLASTIC_STRAIN, reduce: MAX}}}}
"""


def tearing():
    robots, lines = "", ""
    # the right gripper presses deeper: otherwise the dough would tear at both, into three parts
    for name, base, side, closed in (("right", 0.0, -1, 0.032), ("left", 0.58, 1, 0.041)):
        arm = Arm([0, base, 0], 0, [0, 0, 0.085383 + 0.0825])  # the tool is the tip of the fingers
        at = lambda out, z: [0.555, 0.29 + side * (0.118 + out), z]
        low, high, lay = 0.006, 0.126, 0.02
        pose = lambda time, out, z: (time, at(out, z), still(DOWN))
        poses = [pose(0, 0, high), pose(0.3, 0, low), pose(0.8, 0, low), pose(1.2, 0, high), pose(1.3, 0, high),
                 pose(1.9, 0.15, high), pose(2.0, 0.15, high), pose(2.3, 0.15, lay), pose(2.8, 0.15, lay), pose(3.2, 0.15, high)]
        times, values = arm.follow(poses, [0.3 * -side, 0.9, 0, -1.5, 0, 0.75, 0.3 * -side])
        robots += ARM.format(name=name, file="iiwa7_wsg_wide", position=[0, base, 0], yaw=0, joints=start(values[0]),
                             stiffness="2.0e4", damping=1000, opening=0.055, force=160)
        lines += script(name, times, values)
        lines += (f"  - {{target: {{gripper: {name}/gripper}}, times: [0, 0.35, 0.75, 2.4, 2.7], "
                  f"values: [-0.055, -0.055, {-closed}, {-closed}, -0.055]}}\n")
    return TEARING.format(robots=robots, script=lines)


def rolling():
    robots, lines = "", ""
    handle, opening = 0.02, 0.0202  # radius of the handles, and the fingers' distance from the axis at the start [m]
    course, x = [(0, -0.08, 0.14), (0.3, -0.08, 0.119)], -0.08  # (time, x, z) of the pin's axis
    for z in (0.119, 0.111, 0.104, 0.0975, 0.094):  # each pass thins the dough by about a tenth
        time = course[-1][0]
        course += [(time + 0.1, x, z), (time + 0.7, -x, z)]
        x = -x
    course += [(course[-1][0] + 0.4, x, 0.16)]
    for name, side in (("right", -1), ("left", 1)):
        arm = Arm([0, 0.8 * side, 0], -math.pi / 2 * side, [0, 0, 0.085383 + 0.04])  # the tool is the handle's axis
        poses = [(time, [x, 0.21 * side, z], still(DOWN)) for time, x, z in course]
        times, values = arm.follow(poses, [0, 0.7, 0, -1.5, 0, 0.92, math.pi / 2 * side])
        robots += ARM.format(name=name, file="iiwa7_wsg", position=[0, 0.8 * side, 0], yaw=-90 * side, joints=start(values[0]),
                             stiffness=5000, damping=250, opening=opening, force=160)
        lines += script(name, times, values)
        lines += f"  - {{target: {{gripper: {name}/gripper}}, times: [0], values: [{0.005 - handle:g}]}}\n"
    return ROLLING.format(robots=robots, script=lines)


def main():
    (SCENES / "dough_rolling.yaml").write_text(rolling())
    (SCENES / "dough_tearing.yaml").write_text(tearing())


if __name__ == "__main__":
    main()
