#!/usr/bin/env python3
"""Writes scenes/chain.yaml and the hook that it hangs from.

Toruses of the size of Han et al. 2023 §VII-F (ring 0.4 m, tube 0.1 m, 0.51 m apart, every other one turned by 90°), linked into
a chain below a fixed one of the same size.

    python3 scenes/tools/make_chain.py [LINKS] [--out SCENE.yaml]
"""

import argparse
import math
import pathlib

SCENES = pathlib.Path(__file__).resolve().parents[1]
RING, TUBE, PITCH = 0.4, 0.1, 0.51  # [m]
SLICES, SIDES = 42, 12              # of the hook's surface

HEAD = """\
# A chain of {links} soft links under its own weight, hung from a fixed ring (Han et al. 2023, §VII-F and Fig. 8).
# To see: a wave runs down the released chain; it comes to rest {length:.1f} m long, with every link still in the next.
# Made by scenes/tools/make_chain.py; any other length: python3 scenes/tools/make_chain.py 100 --out chain_100.yaml
name: chain
time_step: 0.02
contact: {{patches: POLYGONS, patch_divisions: 2}}
bodies:
  - {{name: hook, rigid: {{motion: FIXED, pose: {{position: [0, 0, {top:g}]}}, shapes: [{{mesh: {{file: {hook}}}}}]}}}}
  - name: link
    template: true
    deformable:
      mesh: {{torus: {{ring_radius: {ring}, tube_radius: {tube}, slices: {slices}}}, edge_length: {tube}}}
      material: {{model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e7, poissons_ratio: 0.4, density: 500}}
      damping: {{beta: 0.05}}
instances:
  - of: link
    poses:
"""


def hook():
    lines = ["# a ring that stands upright, its axis along y"]
    for i in range(SLICES):
        a = 2 * math.pi * i / SLICES
        for j in range(SIDES):
            b = 2 * math.pi * j / SIDES
            d = RING + TUBE * math.cos(b)
            lines.append(f"v {d * math.cos(a):.9g} {-TUBE * math.sin(b):.9g} {d * math.sin(a):.9g}")
    for i in range(SLICES):
        for j in range(SIDES):
            a, b = i * SIDES + j + 1, (i + 1) % SLICES * SIDES + j + 1
            c, d = (i + 1) % SLICES * SIDES + (j + 1) % SIDES + 1, i * SIDES + (j + 1) % SIDES + 1
            lines += [f"f {a} {b} {c}", f"f {a} {c} {d}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Writes a scene with a chain of soft links.")
    parser.add_argument("links", type=int, nargs="?", default=10, help="how many (default 10)")
    parser.add_argument("--out", type=pathlib.Path, default=SCENES / "chain.yaml", help="the scene to write")
    given = parser.parse_args()
    if given.links < 1:
        parser.error("links: expected at least 1")
    path = SCENES / "meshes" / "chain" / "hook.obj"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(hook())
    at_home = given.out.resolve().parent == SCENES
    top = PITCH * given.links + 1
    text = HEAD.format(links=given.links, length=0.6 * given.links + 0.1, top=top, ring=RING, tube=TUBE, slices=SLICES,
                       hook="meshes/chain/hook.obj" if at_home else path)
    for i in range(1, given.links + 1):
        text += f"      - {{position: [0, 0, {top - PITCH * i:.3f}], rpy_degrees: [90, 0, {90 * (i % 2)}]}}\n"
    last = f"link_{given.links - 1}"
    text += f"""probes:
  - {{name: lowest_link, position: {{body: {last}}}}}
  - {{name: volume_ratio, field: {{body: link_0, measure: VOLUME_RATIO, reduce: MIN}}}}
  - {{name: load, contact_force: {{body: link_0, with: hook}}}}
"""
    given.out.write_text(text)


main()
