"""Tetrahedral meshes of solids given by a signed distance (negative inside): what remains of a body-centred lattice that the surface
cuts, after Labelle and Shewchuk, "Isosurface stuffing" (2007). Deterministic; for the small meshes that scenes ship."""

import itertools
import math


def lerp(p, q, s):
    return tuple(a + s * (b - a) for a, b in zip(p, q))


def lattice(low, high, spacing):
    """Points and tetrahedra of a body-centred cubic lattice over a box."""
    n = [math.ceil((h - l) / spacing) + 1 for l, h in zip(low, high)]
    points, index = [], {}

    def point(i, j, k):  # in halves of the spacing
        if (i, j, k) not in index:
            index[i, j, k] = len(points)
            points.append((low[0] + i * spacing / 2, low[1] + j * spacing / 2, low[2] + k * spacing / 2))
        return index[i, j, k]

    cells = []
    for c in itertools.product(*(range(m) for m in n)):
        center = [2 * x + 1 for x in c]
        # with each neighbour cell: the four tetrahedra around the line between the two centres
        for axis in range(3):
            beyond = list(center)
            beyond[axis] += 2
            u, v = [a for a in range(3) if a != axis]
            ring = []
            for su, sv in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = list(center)
                corner[axis] += 1
                corner[u] += su
                corner[v] += sv
                ring.append(tuple(corner))
            for a, b in zip(ring, ring[1:] + ring[:1]):
                cells.append(tuple(point(*p) for p in (center, beyond, a, b)))
    return points, cells


def volume(a, b, c, d):
    u, v, w = ([y - x for x, y in zip(a, p)] for p in (b, c, d))
    return (u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0])) / 6


def split_prism(a, b):
    """Three tetrahedra of a prism with the triangles a and b, whose quadrilaterals are cut at their smallest vertex: neighbours
    agree."""
    faces = [(a[i], a[(i + 1) % 3], b[(i + 1) % 3], b[i]) for i in range(3)]
    apex = min(a + b)
    cells = [(apex, *t) for t in (a, b) if apex not in t]
    for face in faces:
        if apex in face:
            continue
        k = face.index(min(face))
        w, x, y, z = face[k:] + face[:k]
        cells += [(apex, w, x, y), (apex, w, y, z)]
    return cells


def stuff(distance, low, high, spacing, snap=0.25):
    """Vertices and positive tetrahedra. `snap`: lattice points nearer to the surface than this, along an edge, move onto it."""
    points, cells = lattice(low, high, spacing)
    values = [distance(p) for p in points]

    def root(p, q):
        """Where the surface crosses p q, as a share of it."""
        inside, outside = (0.0, 1.0) if distance(p) < 0 else (1.0, 0.0)
        for _ in range(40):
            middle = 0.5 * (inside + outside)
            if distance(lerp(p, q, middle)) < 0:
                inside = middle
            else:
                outside = middle
        return 0.5 * (inside + outside)

    # snap each point that is close to a crossing of one of its edges to the closest such
    edges = sorted({tuple(sorted(e)) for cell in cells for e in itertools.combinations(cell, 2)})
    nearest = {}
    for i, j in edges:
        if (values[i] < 0) == (values[j] < 0):
            continue
        s = root(points[i], points[j])
        for k, share in ((i, s), (j, 1 - s)):
            if share < snap and (k not in nearest or share < nearest[k][0]):
                nearest[k] = (share, lerp(points[i], points[j], s))
    for k, (_, p) in nearest.items():
        points[k], values[k] = p, 0.0

    cuts = {}

    def cut(i, j):
        key = (min(i, j), max(i, j))
        if key not in cuts:
            cuts[key] = len(points)
            points.append(lerp(points[i], points[j], root(points[i], points[j])))
        return cuts[key]

    kept = []
    for cell in cells:
        inside = [i for i in cell if values[i] < 0]
        on = [i for i in cell if values[i] == 0]
        outside = [i for i in cell if values[i] > 0]
        if not inside:
            continue
        if not outside:
            kept.append(cell)
        elif len(inside) == 1:
            kept.append((inside[0], *on, *(cut(inside[0], j) for j in outside)))
        elif len(inside) == 3:
            kept += split_prism(tuple(inside), tuple(cut(i, outside[0]) for i in inside))
        elif on:  # two inside, one on the surface, one outside: a pyramid
            i, j = inside
            base = (i, j, cut(j, outside[0]), cut(i, outside[0]))
            k = base.index(min(base))
            w, x, y, z = base[k:] + base[:k]
            kept += [(on[0], w, x, y), (on[0], w, y, z)]
        else:  # two inside, two outside
            i, j = inside
            kept += split_prism((i, cut(i, outside[0]), cut(i, outside[1])), (j, cut(j, outside[0]), cut(j, outside[1])))
    # turn right way round, drop slivers of no volume, number what is used
    used, vertices, result = {}, [], []
    for cell in kept:
        v = volume(*(points[i] for i in cell))
        if abs(v) < 1e-9 * spacing ** 3:
            continue
        if v < 0:
            cell = (cell[1], cell[0], *cell[2:])
        for i in cell:
            if i not in used:
                used[i] = len(vertices)
                vertices.append(points[i])
        result.append(tuple(used[i] for i in cell))
    return vertices, result


def quality(vertices, cells):
    """Smallest and mean of 6√2 V / ℓ³ with the root mean square edge ℓ: 1 for a regular tetrahedron."""
    worst, total = 1.0, 0.0
    for cell in cells:
        p = [vertices[i] for i in cell]
        ell = math.sqrt(sum(sum((a - b) ** 2 for a, b in zip(x, y)) for x, y in itertools.combinations(p, 2)) / 6)
        q = 6 * math.sqrt(2) * volume(*p) / ell ** 3
        worst, total = min(worst, q), total + q
    return worst, total / len(cells)


def vtk(title, vertices, cells):
    lines = ["# vtk DataFile Version 3.0", title, "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(vertices)} double"]
    lines += [" ".join(f"{x + 0:.6g}" for x in p) for p in vertices]
    lines += [f"CELLS {len(cells)} {5 * len(cells)}"] + [" ".join(map(str, (4, *cell))) for cell in cells]
    lines += [f"CELL_TYPES {len(cells)}"] + ["10"] * len(cells)
    return "\n".join(lines) + "\n"
