#!/usr/bin/env python3
"""Writes the volume meshes of scenes/ball_in_box.yaml, scenes/bowl_grasp.yaml and scenes/tennis_ball.yaml.

    python3 scenes/tools/make_larionov2023.py [--tennis-ball FREQUENCY OUT.vtk]

A shell consists of layers of a triangulated surface: the prism between a triangle in two layers is cut into three tetrahedra
in the order of its vertex numbers, so that neighbours conform. FREQUENCY is the number of parts of an edge of the icosahedron
(4 in the shipped file, 24 for 100 K tetrahedra).
"""

import argparse
import itertools
import math
import pathlib

MESHES = pathlib.Path(__file__).resolve().parents[1] / "meshes"

# Box: outer edge [m], and cells along an edge; the wall is one cell thick.
BOX, CELLS = 0.08, 6

# Tennis ball: outer radii of air, rubber and felt [m], and layers of rubber and felt.
RADII, LAYERS = (0.0265, 0.0305, 0.0335), (2, 1)
RUBBER, FELT = 1, 2

# Bowl, upside down: outer radius of the sphere, wall [m], half the angle that it spans, and quads across it.
BOWL, BOWL_WALL, BOWL_ANGLE, QUADS = 0.07, 0.005, math.radians(75), 10


def volume(a, b, c, d):
    u, v, w = ([q[i] - a[i] for i in range(3)] for q in (b, c, d))
    return (u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) + u[2] * (v[0] * w[1] - v[1] * w[0])) / 6


def write(path, points, tetrahedra, labels=None):
    """Writes legacy VTK, with tetrahedra of positive volume."""
    path.parent.mkdir(exist_ok=True)
    lines = ["# vtk DataFile Version 3.0", path.stem, "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(points)} double"]
    lines += [" ".join(f"{x:.9g}" for x in p) for p in points]
    lines.append(f"CELLS {len(tetrahedra)} {5 * len(tetrahedra)}")
    for a, b, c, d in tetrahedra:
        if volume(points[a], points[b], points[c], points[d]) < 0:
            c, d = d, c
        lines.append(f"4 {a} {b} {c} {d}")
    lines.append(f"CELL_TYPES {len(tetrahedra)}")
    lines += ["10"] * len(tetrahedra)
    if labels:
        lines += [f"CELL_DATA {len(tetrahedra)}", "SCALARS label int 1", "LOOKUP_TABLE default"] + [str(x) for x in labels]
    path.write_text("\n".join(lines) + "\n")
    print(f"{path}: {len(points)} vertices, {len(tetrahedra)} tetrahedra")


def layered(triangles, count, layers):
    """Tetrahedra between `layers` + 1 copies of `count` vertices, and the layer of each."""
    tetrahedra, where = [], []
    for k in range(layers):
        for triangle in triangles:
            a, b, c = sorted(triangle)
            low, high = k * count, (k + 1) * count
            tetrahedra += [(a + low, b + low, c + low, c + high), (a + low, b + low, b + high, c + high),
                           (a + low, a + high, b + high, c + high)]
            where += [k] * 3
    return tetrahedra, where


def icosphere(frequency):
    """Unit vectors and triangles of an icosahedron whose edges are cut into `frequency` parts."""
    phi = (1 + math.sqrt(5)) / 2
    corners = [p for a, b in itertools.product((-1, 1), (-phi, phi)) for p in ((0, a, b), (a, b, 0), (b, 0, a))]
    near = lambda p, q: abs(sum((x - y) ** 2 for x, y in zip(p, q)) - 4) < 1e-9
    index, points, triangles = {}, [], []

    def at(p):
        norm = math.sqrt(sum(x * x for x in p))
        key = tuple(round(x / norm, 9) for x in p)
        if key not in index:
            index[key] = len(points)
            points.append([x / norm for x in p])
        return index[key]

    for a, b, c in itertools.combinations(corners, 3):
        if not (near(a, b) and near(b, c) and near(c, a)):
            continue
        grid = {(i, j): at([x + i / frequency * (y - x) + j / frequency * (z - x) for x, y, z in zip(a, b, c)])
                for i in range(frequency + 1) for j in range(frequency + 1 - i)}
        for i, j in itertools.product(range(frequency), repeat=2):
            if i + j < frequency:
                triangles.append((grid[i, j], grid[i + 1, j], grid[i, j + 1]))
            if i + j < frequency - 1:
                triangles.append((grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]))
    return points, triangles


def make_tennis_ball(frequency, path):
    directions, triangles = icosphere(frequency)
    radii = [RADII[0]]
    for inner, outer, layers in zip(RADII, RADII[1:], LAYERS):
        radii += [inner + (outer - inner) * (k + 1) / layers for k in range(layers)]
    points = [[r * x for x in d] for r in radii for d in directions]
    tetrahedra, where = layered(triangles, len(directions), len(radii) - 1)
    write(path, points, tetrahedra, [RUBBER if k < LAYERS[0] else FELT for k in where])


def make_box(path):
    """A closed box of one layer of cubes, each cut into six tetrahedra around its diagonal."""
    index, points, tetrahedra = {}, [], []

    def at(corner):
        if corner not in index:
            index[corner] = len(points)
            points.append([BOX * (x / CELLS - 0.5) for x in corner])
        return index[corner]

    for cell in itertools.product(range(CELLS), repeat=3):
        if all(0 < x < CELLS - 1 for x in cell):
            continue
        for order in itertools.permutations(range(3)):
            path_of_corners = [list(cell)]
            for axis in order:
                path_of_corners.append([x + (i == axis) for i, x in enumerate(path_of_corners[-1])])
            tetrahedra.append(tuple(at(tuple(corner)) for corner in path_of_corners))
    write(path, points, tetrahedra)


def make_bowl(path):
    """A cap of a hollow sphere, from a square of quads that is mapped to a disc, so that no vertex has many edges."""
    n = QUADS
    directions = []
    for i, j in itertools.product(range(n + 1), repeat=2):
        x, y = 2 * i / n - 1, 2 * j / n - 1
        u, v = x * math.sqrt(1 - y * y / 2), y * math.sqrt(1 - x * x / 2)
        r = math.hypot(u, v)
        theta = BOWL_ANGLE * r
        s = math.sin(theta) / r if r > 0 else 0
        directions.append((s * u, s * v, math.cos(theta)))
    triangles = []
    for i, j in itertools.product(range(n), repeat=2):
        a, b, c, d = i * (n + 1) + j, (i + 1) * (n + 1) + j, (i + 1) * (n + 1) + j + 1, i * (n + 1) + j + 1
        # diagonals end at the corners of the square, where triangles would be flat otherwise
        triangles += [(a, b, c), (a, c, d)] if (i < n / 2) == (j < n / 2) else [(a, b, d), (b, c, d)]
    points = [[r * x for x in d] for r in (BOWL - BOWL_WALL, BOWL) for d in directions]
    tetrahedra, _ = layered(triangles, len(directions), 1)
    write(path, points, tetrahedra)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tennis-ball", nargs=2, metavar=("FREQUENCY", "OUT"))
    options = parser.parse_args()
    if options.tennis_ball:
        make_tennis_ball(int(options.tennis_ball[0]), pathlib.Path(options.tennis_ball[1]))
        return
    make_box(MESHES / "larionov2023" / "box.vtk")
    make_bowl(MESHES / "larionov2023" / "bowl.vtk")
    make_tennis_ball(4, MESHES / "larionov2023" / "tennis_ball.vtk")


main()
