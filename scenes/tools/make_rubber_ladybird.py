#!/usr/bin/env python3
"""Writes the toy of scenes/rubber_ladybird.yaml, scenes/meshes/rubber_ladybird/ladybird.glb.

A rubber ladybird as binary glTF, y up, in metres: a closed surface with eyes, a groove between its wing cases, and an
embedded texture.

    python3 scenes/tools/make_rubber_ladybird.py
"""

import json
import math
import pathlib
import struct
import zlib

SCENES = pathlib.Path(__file__).resolve().parents[1]
LENGTH, WIDTH, HEIGHT = 0.046, 0.036, 0.030  # half axes along z, x and y [m]
ROWS, COLUMNS = 40, 72
IMAGE = 256  # height of the texture; it is twice as wide [px]
EYES = [(0.50, 0.42), (0.50, -0.42)]  # height angle and side angle, seen from the centre [rad]
DOTS = [(0.95, 0.75, 0.27), (0.95, 1.75, 0.27), (0.55, 1.25, 0.22), (0.40, 2.25, 0.24), (1.05, 2.7, 0.20)]  # with radius
RED, DARK, CREAM = (214, 40, 32), (30, 28, 30), (246, 240, 224)


def direction(height, side):
    """Unit vector at an angle above the ground, and an angle from the front, towards the left."""
    return (math.cos(height) * math.sin(side), math.sin(height), math.cos(height) * math.cos(side))


def angle(a, b):
    return math.acos(max(-1.0, min(1.0, sum(x * y for x, y in zip(a, b)))))


def point(way):
    x, y, z = way
    bulge = sum(0.16 * math.exp(-(angle(way, direction(*eye)) / 0.17) ** 2) for eye in EYES)
    groove = 0.045 * math.exp(-(x / 0.05) ** 2) * (1 if y > 0 and z < 0.55 else 0)
    neck = 0.06 * math.exp(-((z - 0.62) / 0.09) ** 2)
    flat = 0.62 if y < 0 else 1.0  # the belly
    r = 1 + bulge - groove - neck
    return (WIDTH * r * x, HEIGHT * r * y * flat, LENGTH * r * z)


def color(way):
    x, y, z = way
    for eye in EYES:
        off = angle(way, direction(*eye))
        if off < 0.26:
            return DARK if off < 0.12 else CREAM
    if y < -0.08 or abs(x) < 0.022 and z < 0.62:
        return DARK
    if z > 0.62:  # the head, with a smile
        mouth = abs(angle(way, direction(0.75, 0)) - 0.62) < 0.035 and y < 0.25 and abs(x) < 0.32
        return CREAM if mouth else DARK
    for height, side, radius in DOTS:
        for sign in (1, -1):
            if angle(way, direction(height, sign * side)) < radius:
                return DARK
    return RED


def way_of(u, v):
    """Direction at texture coordinates: longitude from the back, and height."""
    height, side = math.pi * (v - 0.5), 2 * math.pi * (u - 0.5)
    return direction(height, side)


def png(width, height, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b""))


def paint():
    """The texture, each pixel the mean of four colours."""
    width, rows = 2 * IMAGE, []
    for i in range(IMAGE):
        row = bytearray()
        for j in range(width):
            samples = [color(way_of((j + dj) / width, 1 - (i + di) / IMAGE)) for di in (0.25, 0.75) for dj in (0.25, 0.75)]
            row += bytes(round(sum(channel) / 4) for channel in zip(*samples))
        rows.append(bytes(row))
    return png(width, IMAGE, rows)


def surface():
    """Vertices with texture coordinates, and triangles. The seam is along the back; poles have a vertex per triangle."""
    vertices, triangles = [], []
    for i in range(ROWS + 1):
        for j in range(COLUMNS + 1):
            pole = i in (0, ROWS)
            u, v = (j + 0.5 * pole) / COLUMNS, i / ROWS
            place = point(way_of(0.5, round(v))) if pole else point(way_of(u % 1, v))
            vertices.append((*place, u, 1 - v))
    for i in range(ROWS):
        for j in range(COLUMNS):
            a = i * (COLUMNS + 1) + j
            b = a + COLUMNS + 1
            if i > 0:
                triangles.append((a, a + 1, b + 1) if i + 1 < ROWS else (a, a + 1, b))
            if i + 1 < ROWS:
                triangles.append((a, b + 1, b))
    return vertices, triangles


def main():
    vertices, triangles = surface()
    places = [place for *place, _, _ in vertices]
    parts = [b"".join(struct.pack("<3f", *place) for place in places),
             b"".join(struct.pack("<2f", u, v) for *_, u, v in vertices),
             b"".join(struct.pack("<3H", *triangle) for triangle in triangles),
             paint()]
    views, binary = [], b""
    for part in parts:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(part)})
        binary += part + b"\0" * (-len(part) % 4)
    bounds = {name: [struct.unpack("<f", struct.pack("<f", of(place[k] for place in places)))[0] for k in range(3)]
              for name, of in (("min", min), ("max", max))}
    text = json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"name": "paint", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}], "images": [{"bufferView": 3, "mimeType": "image/png"}],
        "buffers": [{"byteLength": len(binary)}], "bufferViews": views,
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(vertices), "type": "VEC3", **bounds},
            {"bufferView": 1, "componentType": 5126, "count": len(vertices), "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 3 * len(triangles), "type": "SCALAR"}]}).encode()
    text += b" " * (-len(text) % 4)
    path = SCENES / "meshes" / "rubber_ladybird" / "ladybird.glb"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(struct.pack("<3I", 0x46546C67, 2, 28 + len(text) + len(binary)) +
                     struct.pack("<2I", len(text), 0x4E4F534A) + text +
                     struct.pack("<2I", len(binary), 0x004E4942) + binary)


main()
