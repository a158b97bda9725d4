// Render surfaces: vertices are duplicated along creases, so that a ball looks smooth and a box keeps its edges.

export interface RenderSurface {
  source: Uint32Array; // surface vertex of each render vertex
  indices: Uint32Array; // three render vertices per triangle
}

// Splits a surface where neighbouring triangles meet at more than `creaseDegrees`.
//
// positions  xyz per vertex, rest shape
// indices    three per triangle, outward by the right-hand rule; triangles with an index out of range are dropped
export function splitCreases(positions: ArrayLike<number>, indices: ArrayLike<number>, creaseDegrees = 55): RenderSurface {
  const vertexCount = Math.floor(positions.length / 3);
  const corners: number[] = [];
  for (let i = 0; i + 2 < indices.length; i += 3) {
    const [a, b, c] = [indices[i], indices[i + 1], indices[i + 2]];
    if (a < vertexCount && b < vertexCount && c < vertexCount) corners.push(a, b, c);
  }
  const normals = unitNormals(positions, corners);
  const cosCrease = Math.cos((creaseDegrees * Math.PI) / 180);

  // corners at a vertex share a render vertex when their triangles share a smooth edge there
  const group = Int32Array.from(corners, (_, corner) => corner);
  const find = (x: number): number => {
    while (group[x] !== x) x = group[x] = group[group[x]];
    return x;
  };
  const edges = new Map<number, { triangle: number; corners: [number, number] }[]>();
  for (let triangle = 0; triangle * 3 < corners.length; ++triangle) {
    for (let side = 0; side < 3; ++side) {
      const first = triangle * 3 + side;
      const second = triangle * 3 + ((side + 1) % 3);
      const low = Math.min(corners[first], corners[second]);
      const high = Math.max(corners[first], corners[second]);
      const atLow = corners[first] === low ? first : second;
      const atHigh = atLow === first ? second : first;
      const key = low * vertexCount + high;
      const here = edges.get(key) ?? [];
      for (const other of here) {
        if (dot(normals, triangle, other.triangle) < cosCrease) continue;
        group[find(atLow)] = find(other.corners[0]);
        group[find(atHigh)] = find(other.corners[1]);
      }
      here.push({ triangle, corners: [atLow, atHigh] });
      edges.set(key, here);
    }
  }

  // one render vertex per group, in order of appearance
  const renderVertex = new Map<number, number>();
  const source: number[] = [];
  const renderIndices = new Uint32Array(corners.length);
  for (let corner = 0; corner < corners.length; ++corner) {
    const root = find(corner);
    let vertex = renderVertex.get(root);
    if (vertex === undefined) {
      vertex = source.length;
      renderVertex.set(root, vertex);
      source.push(corners[corner]);
    }
    renderIndices[corner] = vertex;
  }
  return { source: Uint32Array.from(source), indices: renderIndices };
}

// A surface that has several vertices along the seams of its texture, although it is smooth there.
export interface SeamedSurface extends RenderSurface {
  smooth: RenderSurface; // without the seams; has the normals of the surface
  smoothOf: Uint32Array; // vertex of `smooth` of each render vertex
}

// Like splitCreases, for surfaces that may have several vertices at the same position.
export function splitSeams(positions: ArrayLike<number>, indices: ArrayLike<number>): SeamedSurface {
  // merge vertices at the same position
  const vertexCount = Math.floor(positions.length / 3);
  const firsts = new Map<string, number>();
  const first = Uint32Array.from({ length: vertexCount }, (_, v) => {
    const place = `${positions[3 * v]} ${positions[3 * v + 1]} ${positions[3 * v + 2]}`;
    if (!firsts.has(place)) firsts.set(place, v);
    return firsts.get(place)!;
  });
  const corners: number[] = [];
  for (let i = 0; i + 2 < indices.length; i += 3) {
    const triangle = [indices[i], indices[i + 1], indices[i + 2]];
    if (triangle.every((vertex) => vertex < vertexCount)) corners.push(...triangle);
  }
  const smooth = splitCreases(positions, corners.map((vertex) => first[vertex]));

  // one render vertex per smooth vertex and vertex of the file
  const numbers = new Map<number, number>();
  const source: number[] = [];
  const smoothOf: number[] = [];
  const renderIndices = Uint32Array.from(corners, (vertex, corner) => {
    const key = smooth.indices[corner] * vertexCount + vertex;
    let number = numbers.get(key);
    if (number === undefined) {
      number = source.length;
      numbers.set(key, number);
      source.push(vertex);
      smoothOf.push(smooth.indices[corner]);
    }
    return number;
  });
  return { source: Uint32Array.from(source), indices: renderIndices, smooth, smoothOf: Uint32Array.from(smoothOf) };
}

// Copies the chosen vectors, three numbers each.
export function gather(vectors: ArrayLike<number>, chosen: Uint32Array, into: Float32Array): Float32Array {
  for (let i = 0; i < chosen.length; ++i) for (let k = 0; k < 3; ++k) into[3 * i + k] = vectors[3 * chosen[i] + k];
  return into;
}

// Computes area-weighted unit normals at vertices; zero where no triangle has any area.
export function vertexNormals(positions: Float32Array, indices: Uint32Array, normals: Float32Array): void {
  normals.fill(0);
  for (let i = 0; i < indices.length; i += 3) {
    const a = indices[i] * 3;
    const b = indices[i + 1] * 3;
    const c = indices[i + 2] * 3;
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const nx = uy * vz - uz * vy;
    const ny = uz * vx - ux * vz;
    const nz = ux * vy - uy * vx;
    for (const k of [a, b, c]) {
      normals[k] += nx;
      normals[k + 1] += ny;
      normals[k + 2] += nz;
    }
  }
  for (let k = 0; k < normals.length; k += 3) {
    const length = Math.hypot(normals[k], normals[k + 1], normals[k + 2]);
    if (length === 0) continue;
    normals[k] /= length;
    normals[k + 1] /= length;
    normals[k + 2] /= length;
  }
}

// Returns the area-weighted centroid of the surface, or the mean of the vertices where there is no area.
export function surfaceCentroid(positions: Float32Array, indices: Uint32Array): [number, number, number] {
  const sum = [0, 0, 0];
  let total = 0;
  for (let i = 0; i < indices.length; i += 3) {
    const a = indices[i] * 3;
    const b = indices[i + 1] * 3;
    const c = indices[i + 2] * 3;
    const u = [0, 1, 2].map((k) => positions[b + k] - positions[a + k]);
    const v = [0, 1, 2].map((k) => positions[c + k] - positions[a + k]);
    const area = 0.5 * Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
    total += area;
    for (let k = 0; k < 3; ++k) sum[k] += (area * (positions[a + k] + positions[b + k] + positions[c + k])) / 3;
  }
  if (total > 0) return [sum[0] / total, sum[1] / total, sum[2] / total];
  const count = Math.max(1, positions.length / 3);
  for (let k = 0; k < positions.length; ++k) sum[k % 3] += positions[k] / count;
  return [sum[0], sum[1], sum[2]];
}

function unitNormals(positions: ArrayLike<number>, corners: number[]): Float64Array {
  const normals = new Float64Array(corners.length);
  for (let i = 0; i < corners.length; i += 3) {
    const [a, b, c] = [corners[i] * 3, corners[i + 1] * 3, corners[i + 2] * 3];
    const u = [0, 1, 2].map((k) => positions[b + k] - positions[a + k]);
    const v = [0, 1, 2].map((k) => positions[c + k] - positions[a + k]);
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const length = Math.hypot(n[0], n[1], n[2]) || 1;
    for (let k = 0; k < 3; ++k) normals[i + k] = n[k] / length;
  }
  return normals;
}

function dot(normals: Float64Array, a: number, b: number): number {
  return (
    normals[a * 3] * normals[b * 3] + normals[a * 3 + 1] * normals[b * 3 + 1] + normals[a * 3 + 2] * normals[b * 3 + 2]
  );
}
