#!/usr/bin/env python3
"""Writes the surface of scenes/rubber_pumpkin.yaml, scenes/meshes/rubber_pumpkin/pumpkin.stl.

A flattened sphere with eight lobes and a dimple at either pole, as a binary STL in millimetres, like a scan.

    python3 scenes/tools/make_rubber_pumpkin.py
"""

import math
import pathlib
import struct

SCENES = pathlib.Path(__file__).resolve().parents[1]
RADIUS, HEIGHT = 50.0, 38.0      # [mm]
LOBES, DENT, DIMPLE = 8, 4.0, 8.0  # number, depth between them, depth at the poles [mm]
ROWS, COLUMNS = 28, 64


def point(i, j):
    theta, phi = math.pi * i / ROWS, 2 * math.pi * (j % COLUMNS) / COLUMNS
    rim = math.sin(theta) if 0 < i < ROWS else 0.0
    r = RADIUS * rim - DENT * rim ** 2 * (1 - math.cos(LOBES * phi)) / 2
    z = HEIGHT * math.cos(theta) - math.copysign(DIMPLE, math.cos(theta)) * math.exp(-(rim / 0.35) ** 2)
    return (r * math.cos(phi), r * math.sin(phi), z)


def main():
    triangles = []
    for i in range(ROWS):
        for j in range(COLUMNS):
            a, b, c, d = point(i, j), point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)
            if i > 0:
                triangles.append((a, b, d))
            if i + 1 < ROWS:
                triangles.append((b, c, d))
    path = SCENES / "meshes" / "rubber_pumpkin" / "pumpkin.stl"
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"pumpkin, in millimetres".ljust(80) + struct.pack("<I", len(triangles)))
        for corners in triangles:
            file.write(struct.pack("<3f", 0, 0, 0))
            for corner in corners:
                file.write(struct.pack("<3f", *corner))
            file.write(struct.pack("<H", 0))


main()
