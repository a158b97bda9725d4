#!/usr/bin/env python3
"""Writes scenes/allegro_grasp.yaml, scenes/allegro_adversary.yaml and the mesh of the latter's object.

An Allegro hand on an arm closes about what lies in its palm, turns over and holds it (Macklin et al. 2019, §10.1.3 and Table 2:
a soft ball, and an object of the kind that the DexNet collection calls adversarial). The object is our own: three slabs of
small triangles that pass through each other, which leaves concave corners everywhere, each drawn ten times. Shells
that cross and triangles that coincide are what such meshes are made of, and every contact on them comes several times.

    python3 scenes/tools/make_grasps.py
"""

import pathlib

SCENES = pathlib.Path(__file__).resolve().parents[1]

SLAB = (0.074, 0.036, 0.022)   # [m]
CELL = 0.0062                  # [m]
COPIES = 10


class Mesh:
    def __init__(self):
        self.vertices, self.index, self.faces = [], {}, []

    def vertex(self, p):
        key = tuple(round(x, 7) for x in p)
        if key not in self.index:
            self.index[key] = len(self.vertices)
            self.vertices.append(key)
        return self.index[key]

    def patch(self, origin, u, v, cells_u, cells_v):
        """A grid of triangles over origin + s u + t v, its normal along u × v."""
        at = lambda i, j: self.vertex([o + a * i / cells_u + b * j / cells_v for o, a, b in zip(origin, u, v)])
        for i in range(cells_u):
            for j in range(cells_v):
                a, b, c, d = at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)
                self.faces += [(a, b, c), (a, c, d)]


def slab(mesh):
    """A box of small triangles."""
    point = lambda corner: [s * n / 2 for s, n in zip(corner, SLAB)]
    along = lambda i: [SLAB[i] if k == i else 0.0 for k in range(3)]
    cells = [max(1, round(n / CELL)) for n in SLAB]
    for i in range(3):
        for sign in (-1, 1):
            corner = [-1, -1, -1]
            corner[i] = sign
            first, second = ((i + 1) % 3, (i + 2) % 3) if sign > 0 else ((i + 2) % 3, (i + 1) % 3)
            mesh.patch(point(corner), along(first), along(second), cells[first], cells[second])


HAND = """\
time_step: 0.008333333333333333
method: {{nonsmooth: {{friction: CONE, tolerance: 1.0e-6}}}}
contact: {contact}
bodies:
  - {{name: floor, rigid: {{motion: FIXED, shapes: [{{half_space: {{}}}}]}}}}
{body}robots:
  - name: robot
    file: robots/iiwa_allegro.urdf
    joint_positions:
      {{iiwa_joint_2: 0.6, iiwa_joint_4: -1.4, iiwa_joint_5: 2.9, iiwa_joint_6: 0.43, iiwa_joint_7: 0.24, index_joint_0: -0.11,
       index_joint_1: 0.2, middle_joint_1: 0.2, ring_joint_0: 0.12, ring_joint_1: 0.2, thumb_joint_0: 1.39, thumb_joint_1: 0.6}}
    actuators:
      - {{joint: "iiwa_joint_[1-4]", pd: {{stiffness: 3000, damping: 100, gravity_compensation: true}}}}
      - {{joint: "iiwa_joint_[5-7]", pd: {{stiffness: 800, damping: 20, gravity_compensation: true}}}}
      - {{joint: "(index|middle|ring|thumb)_joint_[0-3]", pd: {{stiffness: 5, damping: 0.2, gravity_compensation: true}}, effort_limit: 0.7}}
script:   # close, turn over
  - {{target: {{joint: robot/iiwa_joint_7}}, times: [1.2, 2.9], values: [0.24, 3.0]}}
{fingers}probes:
  - {{name: object, position: {{body: {name}}}}}
  - {{name: palm, position: {{link: robot/allegro_palm, point: [0, 0, 0]}}}}
  - {{name: grip, contact_force: {{body: {name}}}}}
  - {{name: penetration, penetration: {{}}}}
"""
BALL_HEAD = """\
# An Allegro hand on a KUKA iiwa closes about a soft ball that lies in its palm, turns over and holds it (Macklin et al. 2019,
# Table 2: 427 tetrahedra, friction 0.8, some 400 contacts). To see: the ball stays in the hand; at friction 0.02 it falls.
# Made by scenes/tools/make_grasps.py.
name: allegro_grasp
"""
BALL = """\
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.04}, edge_length: 0.0135}
      pose: {position: [0.8335, 0.022, 0.5895]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.5e4, poissons_ratio: 0.4, density: 500}
      damping: {beta: 0.01}
"""
ADVERSARY_HEAD = """\
# An Allegro hand on a KUKA iiwa closes about an adversarial object, turns over and holds it (Macklin et al. 2019,
# §10.1.3: friction 0.8): intersecting slabs, each repeated ten times, highly concave and not a manifold. To see: it
# stays in the hand; fingers of 0.005 N·m drop it. (It is so concave that stronger fingers cage it at any friction.)
# Made by scenes/tools/make_grasps.py.
name: allegro_adversary
"""
ADVERSARY = """\
  - name: adversary
    rigid:
      motion: FREE
      mass: 0.1
      inertia: [3.0e-5, 3.0e-5, 3.0e-5, 0, 0, 0]
      pose: {position: [0.8335, 0.022, 0.587]}
      shapes:
""" + COPIES * """\
        - {mesh: {file: meshes/adversary/slab.obj}}
        - {mesh: {file: meshes/adversary/slab.obj}, pose: {quaternion: [0.5, 0.5, 0.5, 0.5]}}
        - {mesh: {file: meshes/adversary/slab.obj}, pose: {quaternion: [-0.5, 0.5, 0.5, 0.5]}}
"""
# joints of the fingers, open and closed [rad]
FINGERS = {f"{name}_joint_{k}": (open_, closed)
           for name in ("index", "middle", "ring")
           for k, open_, closed in ((1, 0.2, 0.8), (2, 0.0, 1.0), (3, 0.0, 1.0))}
FINGERS |= {"thumb_joint_2": (0.0, 0.5), "thumb_joint_3": (0.0, 1.5)}


def main():
    mesh = Mesh()
    slab(mesh)
    folder = SCENES / "meshes" / "adversary"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# a slab of the awkward object, made by scenes/tools/make_grasps.py"]
    lines += ["v " + " ".join(f"{x + 0:.7g}" for x in p) for p in mesh.vertices]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in mesh.faces]
    (folder / "slab.obj").write_text("\n".join(lines) + "\n")

    fingers = lambda time: "".join(f"  - {{target: {{joint: robot/{joint}}}, times: [0, {time:g}], values: [{open_:g}, {closed:g}]}}\n"
                      for joint, (open_, closed) in FINGERS.items())
    (SCENES / "allegro_grasp.yaml").write_text(BALL_HEAD + HAND.format(
        contact="{friction: 0.8, patches: POLYGONS, patch_divisions: 4}", body=BALL, name="ball", fingers=fingers(1)))
    (SCENES / "allegro_adversary.yaml").write_text(ADVERSARY_HEAD + HAND.format(
        contact="{friction: 0.8}", body=ADVERSARY, name="adversary", fingers=fingers(0.35)))


if __name__ == "__main__":
    main()
