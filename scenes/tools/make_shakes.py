#!/usr/bin/env python3
"""Writes scenes/allegro_ball.yaml: a hand that grasps a soft ball, is shaken along two axes, and lets go.

    python3 scenes/tools/make_shakes.py
"""

import math
import pathlib

SCENES = pathlib.Path(__file__).resolve().parents[1]
FREQUENCY, SECONDS, EVERY = 2.0, 5.0, 0.025  # [Hz], [s], time between entries [s]


def shake(start, amplitude, seconds=SECONDS):
    """Times and offsets of a sine that swells and ebbs within half a second."""
    times, offsets = [], []
    for k in range(round(seconds / EVERY) + 1):
        t = k * EVERY
        swell = min(1.0, t / 0.5, (seconds - t) / 0.5)
        times.append(round(start + t, 3))
        offsets.append(amplitude * swell * swell * (3 - 2 * swell) * math.sin(2 * math.pi * FREQUENCY * t))
    return times, offsets


def entry(target, times, values):
    """An entry of the script, a dozen numbers a line."""
    def rows(name, items):
        lines = ["      " + ", ".join(items[i:i + 12]) for i in range(0, len(items), 12)]
        return f"    {name}: [\n" + ",\n".join(lines) + "]\n"
    return f"  - target: {target}\n" + rows("times", [f"{t:g}" for t in times]) + rows("values", values)


def number(x):
    return f"{round(x, 5) + 0:g}"


HAND = """\
# A KUKA iiwa with an Allegro hand grasps a soft ball that lies in its palm, turns over, shakes it by ± 5 cm at 2 Hz for
# 5 s sideways and for 5 s up and down, and opens (Han et al. 2023, §VII-D; by hand in the paper, here by script).
# To see: the ball (25 kPa) deforms between palm, fingers and thumb, stays in place when shaken, and falls at 14 s.
# Made by scenes/tools/make_shakes.py.
name: allegro_ball
time_step: 0.01
contact: {friction: 0.8, patches: POLYGONS, patch_divisions: 2, margin: 0.003}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.04}, edge_length: 0.0135}
      pose: {position: [0.8335, 0.022, 0.5895]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.5e4, poissons_ratio: 0.4, density: 500}
      damping: {beta: 0.01}
robots:
  - name: robot
    file: robots/iiwa_allegro.urdf
    joint_positions:
      {iiwa_joint_2: 0.6, iiwa_joint_4: -1.4, iiwa_joint_5: 2.9, iiwa_joint_6: 0.43, iiwa_joint_7: 0.24, index_joint_0: -0.11,
       index_joint_1: 0.2, middle_joint_1: 0.2, ring_joint_0: 0.12, ring_joint_1: 0.2, thumb_joint_0: 1.39, thumb_joint_1: 0.6}
    actuators:
      - {joint: "iiwa_joint_[1-4]", pd: {stiffness: 3000, damping: 100, gravity_compensation: true}}
      - {joint: "iiwa_joint_[5-7]", pd: {stiffness: 800, damping: 20, gravity_compensation: true}}
      - {joint: "(index|middle|ring|thumb)_joint_[0-3]", pd: {stiffness: 5, damping: 0.2, gravity_compensation: true}, effort_limit: 0.7}
script:
  - {target: {joint: robot/iiwa_joint_7}, times: [1.2, 2.9], values: [0.24, 3.0]}
"""
HAND_PROBES = """\
probes:
  - {name: ball, position: {body: ball}}
  - {name: palm, position: {link: robot/allegro_palm, point: [0, 0, 0]}}
  # end points of two axes of the palm, for the ball's position in the hand
  - {name: palm_x, position: {link: robot/allegro_palm, point: [1, 0, 0]}}
  - {name: palm_z, position: {link: robot/allegro_palm, point: [0, 0, 1]}}
  - {name: strain, field: {body: ball, measure: VON_MISES_STRAIN, reduce: MAX}}
  - {name: volume_ratio, field: {body: ball, measure: VOLUME_RATIO, reduce: MIN}}
  - {name: grip, contact_force: {body: ball}}
"""
# joints of the fingers, open and closed [rad]
FINGERS = {f"{name}_joint_{k}": (open_, closed)
           for name in ("index", "middle", "ring")
           for k, open_, closed in ((1, 0.2, 0.8), (2, 0.0, 1.0), (3, 0.0, 1.0))}
FINGERS |= {"thumb_joint_2": (0.0, 0.5), "thumb_joint_3": (0.0, 1.5)}
REACH = 1.1  # gives ± 5 cm at the ball, which is 0.87 m from the axes of the first and second joint: the drives overshoot [m]


def hand():
    text = HAND
    for joint, (open_, closed) in FINGERS.items():
        text += (f"  - {{target: {{joint: robot/{joint}}}, times: [0, 1, 14, 14.3], values: [{open_:g}, {closed:g}, {closed:g}, "
                 f"{open_:g}]}}\n")
    for joint, rest, start in (("iiwa_joint_1", 0, 3), ("iiwa_joint_2", 0.6, 8.5)):
        times, offsets = shake(start, 0.05 / REACH)
        text += entry(f"{{joint: robot/{joint}}}", times, [number(rest + x) for x in offsets])
    (SCENES / "allegro_ball.yaml").write_text(text + HAND_PROBES)


if __name__ == "__main__":
    hand()
