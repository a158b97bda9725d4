#!/usr/bin/env python3
"""Writes scenes/masonry_arch.yaml and the soft voussoirs in scenes/meshes/arch.

The arch of make_arch.py with blocks that deform, as Han et al. 2023 §VII-B have it: each block is its eight corners and its
centre, joined to twelve tetrahedra.

    python3 scenes/tools/make_masonry_arch.py
"""

import make_arch
from make_arch import BASE, DENSITY, SCENES

HEAD = """\
# A masonry arch of 25 deformable voussoirs, 60 m high, held up by contact alone: stiff blocks of nine vertices each.
# Its feet stand on the sharp edges of two blocks of rock (Han et al. 2023, §VII-B and Fig. 5). With friction 1.0 it
# stands for at least ten minutes; at 0.2 it falls apart:
#     pliantd run scenes/masonry_arch.yaml --duration 60 --set contact.friction=0.2
# Made by scenes/tools/make_masonry_arch.py.
name: masonry_arch
time_step: 0.04
method: {{convex: {{beta: 10, max_iterations: 1000}}}}
contact: {{friction: 1.0, patches: POLYGONS, patch_divisions: 2}}
bodies:
  - {{name: ground, rigid: {{motion: FIXED, pose: {{position: [0, 0, {ground:g}]}}, shapes: [{{half_space: {{}}}}]}}}}
"""


def vtk(corners, center, section):
    """A prism over the outline and its centre: twelve tetrahedra between the centre and the halves of the six faces."""
    points = [(x - center[0], y, z - center[1]) for y in (-section / 2, section / 2) for x, z in corners]
    points.append(tuple(sum(p[k] for p in points) / 8 for k in range(3)))
    # outward, as in make_arch.obj
    faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    cells = [(8, *triangle) for a, b, c, d in faces for triangle in ((a, b, c), (a, c, d))]
    lines = ["# vtk DataFile Version 3.0", "a voussoir, made by scenes/tools/make_masonry_arch.py", "ASCII",
             "DATASET UNSTRUCTURED_GRID", f"POINTS {len(points)} double"]
    lines += [" ".join(f"{x:.9g}" for x in p) for p in points]
    lines += [f"CELLS {len(cells)} {5 * len(cells)}"] + [" ".join(map(str, (4, *cell))) for cell in cells]
    lines += [f"CELL_TYPES {len(cells)}"] + ["10"] * len(cells)
    return "\n".join(lines) + "\n"


def block(index, mesh, position, turned):
    pose = f"position: [{round(position[0], 7) + 0:.9g}, 0, {position[1]:.9g}]" + (", rpy_degrees: [0, 0, 180]" if turned else "")
    return (f"  - {{name: block_{index:02d}, deformable: {{mesh: {{file: meshes/arch/{mesh}}}, pose: {{{pose}}}, "
            f"material: {{youngs_modulus: 2.0e10, poissons_ratio: 0.3, density: {DENSITY}}}, damping: {{beta: 0.01}}}}}}\n")


def main():
    (SCENES / "masonry_arch.yaml").write_text(HEAD.format(ground=-BASE) + make_arch.write_blocks("vtk", vtk, block) + make_arch.TAIL)


if __name__ == "__main__":
    main()
