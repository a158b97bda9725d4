import { BoxGeometry, IcosahedronGeometry } from 'three';
import { mergeVertices } from 'three/addons/utils/BufferGeometryUtils.js';
import { describe, expect, test } from 'vitest';
import { splitCreases, splitSeams, surfaceCentroid, vertexNormals } from '../src/link/surface';

function welded(geometry: BoxGeometry | IcosahedronGeometry): { positions: Float32Array; indices: number[] } {
  const bare = geometry.clone();
  bare.deleteAttribute('normal');
  bare.deleteAttribute('uv');
  const merged = mergeVertices(bare, 1e-6);
  return { positions: merged.attributes.position.array as Float32Array, indices: [...merged.index!.array] };
}

describe('a surface as it is drawn', () => {
  test('keeps one vertex a corner on a ball, and three on a box', () => {
    const ball = welded(new IcosahedronGeometry(1, 4));
    expect(splitCreases(ball.positions, ball.indices).source).toHaveLength(ball.positions.length / 3);
    const box = welded(new BoxGeometry(1, 2, 3));
    expect(box.positions).toHaveLength(8 * 3);
    expect(splitCreases(box.positions, box.indices).source).toHaveLength(24);
  });

  test('keeps every triangle at its place', () => {
    const box = welded(new BoxGeometry(1, 2, 3));
    const { source, indices } = splitCreases(box.positions, box.indices);
    expect([...indices].map((vertex) => source[vertex])).toEqual(box.indices);
  });

  test('drops triangles that name vertices which are not there', () => {
    expect(splitCreases([0, 0, 0, 1, 0, 0, 0, 1, 0], [0, 1, 2, 0, 1, 7]).indices).toHaveLength(3);
  });

  test('has normals along the radius of a ball', () => {
    const { positions, indices } = welded(new IcosahedronGeometry(0.05, 6));
    const normals = new Float32Array(positions.length);
    vertexNormals(positions, Uint32Array.from(indices), normals);
    for (let i = 0; i < positions.length; i += 3) {
      const along = [0, 1, 2].reduce((sum, k) => sum + normals[i + k] * (positions[i + k] / 0.05), 0);
      expect(along).toBeGreaterThan(0.995);
    }
  });

  test('has its centroid where its area is', () => {
    const box = welded(new BoxGeometry(1, 2, 3).translate(4, 5, 6) as BoxGeometry);
    const centroid = surfaceCentroid(box.positions, Uint32Array.from(box.indices));
    centroid.forEach((x, k) => expect(x).toBeCloseTo(4 + k, 6));
  });

  test('is smooth across a seam of its texture, where its vertices are two', () => {
    const { positions, indices } = welded(new IcosahedronGeometry(1, 4));
    // every vertex of a triangle is its own, as if each had another place in the image
    const scattered = indices.flatMap((vertex) => [...positions.slice(3 * vertex, 3 * vertex + 3)]);
    const { source, indices: shown, smooth, smoothOf } = splitSeams(scattered, indices.map((_, i) => i));
    expect(source).toHaveLength(indices.length);
    expect(smooth.source).toHaveLength(positions.length / 3);
    expect([...shown].map((vertex) => source[vertex])).toEqual(indices.map((_, i) => i));
    const places = (vertex: number) => scattered.slice(3 * vertex, 3 * vertex + 3);
    source.forEach((vertex, i) => expect(places(smooth.source[smoothOf[i]])).toEqual(places(vertex)));
  });

  test('keeps the corners of a box sharp, whatever its texture', () => {
    const { positions, indices } = welded(new BoxGeometry(1, 2, 3));
    const { source, smooth } = splitSeams(positions, indices);
    expect(source).toHaveLength(24);
    expect(smooth.source).toHaveLength(24);
  });
});
