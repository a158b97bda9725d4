// Appearance of surfaces (texture coordinates, vertex colours, images), and surfaces that soft bodies carry.
import type { Appearance, EmbeddedPart } from '../gen/pliant/v1/world_pb';
import type { SoftSurface } from './decode';
import type { Color, SoftAppearance, VertexAppearance } from './messages';
import { gather, splitSeams } from './surface';

// Appearance at render vertices; `source` has their vertices in the description. Null if there is only a colour.
export function vertexAppearance(appearance: Appearance | undefined, source: Uint32Array): VertexAppearance | null {
  if (!appearance) return null;
  const { textureCoordinates, vertexColors, image } = appearance;
  const hasImage = Boolean(image?.object?.sha256) && textureCoordinates.length > 0;
  if (!hasImage && vertexColors.length === 0) return null;
  return {
    image: hasImage ? image!.object!.sha256 : '',
    coordinates: hasImage ? coordinatesOf(textureCoordinates, source) : null,
    colors: vertexColors.length > 0 ? colorsOf(vertexColors, source) : null,
  };
}

// u and v per vertex; 0 where they are missing.
function coordinatesOf(all: number[], source: Uint32Array): Float32Array {
  return Float32Array.from({ length: 2 * source.length }, (_, i) => all[2 * source[i >> 1] + (i & 1)] ?? 0);
}

// Red, green and blue per vertex, linear; white where they are missing.
function colorsOf(all: Uint8Array, source: Uint32Array): Float32Array {
  const linear = Float32Array.from({ length: 256 }, (_, byte) => {
    const x = byte / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return Float32Array.from({ length: 3 * source.length }, (_, i) => {
    return linear[all[4 * source[Math.floor(i / 3)] + (i % 3)] ?? 255];
  });
}

// The fine surface that a soft body carries: its parts, concatenated.
//
// rest  xyz of the nodes in frames, at rest [m]
export function embeddedSurface(
  parts: EmbeddedPart[],
  rest: ArrayLike<number>,
): { surface: SoftSurface; appearance: SoftAppearance } {
  const nodeCount = Math.floor(rest.length / 3);
  const nodes: number[] = [];
  const weights: number[] = [];
  const source: number[] = [];
  const smoothOf: number[] = [];
  const indices: number[] = [];
  const smoothIndices: number[] = [];
  const groups: SoftAppearance['groups'] = [];
  const appearances: (VertexAppearance | null)[] = [];
  const sizes: number[] = [];
  for (const part of parts) {
    const count = Math.floor(part.nodes.length / 4);
    if (part.weights.length !== 4 * count || part.nodes.some((node) => node >= nodeCount)) continue; // not of this body
    const places = new Float32Array(3 * count);
    for (let i = 0; i < 4 * count; ++i)
      for (let k = 0; k < 3; ++k) places[3 * (i >> 2) + k] += part.weights[i] * rest[3 * part.nodes[i] + k];
    const { smooth, ...seamed } = splitSeams(places, part.indices);
    const [firstSmooth, first] = [nodes.length / 4, source.length];
    for (const vertex of smooth.source)
      for (let i = 4 * vertex; i < 4 * vertex + 4; ++i) {
        nodes.push(part.nodes[i]);
        weights.push(part.weights[i]);
      }
    for (const vertex of smooth.indices) smoothIndices.push(firstSmooth + vertex);
    for (const vertex of seamed.smoothOf) smoothOf.push(firstSmooth + vertex);
    for (const vertex of seamed.source) source.push(heaviest(part, vertex));
    const [r = 1, g = 1, b = 1, a = 1] = part.color;
    const drawn = vertexAppearance(part.appearance, seamed.source);
    const color: Color = [r, g, b, a];
    const hasColors = Boolean(drawn?.colors);
    groups.push({ start: indices.length, count: seamed.indices.length, color, image: drawn?.image ?? '', hasColors });
    for (const vertex of seamed.indices) indices.push(first + vertex);
    appearances.push(drawn);
    sizes.push(seamed.source.length);
  }
  const surface: SoftSurface = {
    source: Uint32Array.from(source),
    indices: Uint32Array.from(indices),
    surfaceVertices: nodeCount,
    carried: {
      nodes: Uint32Array.from(nodes),
      weights: Float32Array.from(weights),
      indices: Uint32Array.from(smoothIndices),
      smoothOf: Uint32Array.from(smoothOf),
    },
  };
  const coordinates = joined(appearances.map((drawn) => drawn?.coordinates ?? null), sizes, 2, 0);
  const colors = joined(appearances.map((drawn) => drawn?.colors ?? null), sizes, 3, 1);
  return { surface, appearance: { groups, coordinates, colors } };
}

// The node with the largest weight for a vertex.
function heaviest({ nodes, weights }: EmbeddedPart, vertex: number): number {
  const at = [0, 1, 2, 3].map((i) => 4 * vertex + i).sort((a, b) => weights[b] - weights[a])[0];
  return nodes[at];
}

// Concatenates the arrays of all parts, filled with `otherwise` where a part has none; null if no part has one.
function joined(arrays: (Float32Array | null)[], counts: number[], size: number, otherwise: number): Float32Array | null {
  if (arrays.every((array) => !array)) return null;
  const whole = new Float32Array(size * counts.reduce((sum, count) => sum + count, 0)).fill(otherwise);
  let at = 0;
  arrays.forEach((array, i) => {
    if (array) whole.set(array, at);
    at += size * counts[i];
  });
  return whole;
}

// Calculates positions and normals of a carried surface's render vertices from the positions of the nodes.
export function carry(
  { nodes, weights, indices, smoothOf }: NonNullable<SoftSurface['carried']>,
  places: Float32Array,
  normalsOf: (positions: Float32Array, indices: Uint32Array, normals: Float32Array) => void,
  positions: Float32Array,
  normals: Float32Array,
): void {
  const smooth = new Float32Array((3 * nodes.length) / 4);
  for (let i = 0; i < nodes.length; ++i) {
    const [at, from, weight] = [3 * (i >> 2), 3 * nodes[i], weights[i]];
    smooth[at] += weight * places[from];
    smooth[at + 1] += weight * places[from + 1];
    smooth[at + 2] += weight * places[from + 2];
  }
  const smoothNormals = new Float32Array(smooth.length);
  normalsOf(smooth, indices, smoothNormals);
  gather(smooth, smoothOf, positions);
  gather(smoothNormals, smoothOf, normals);
}
