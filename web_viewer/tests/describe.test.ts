import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { DeformableFrameSchema, FieldFrameSchema, Tier } from '../src/gen/pliant/v1/stream_pb';
import { WorldDescriptionSchema } from '../src/gen/pliant/v1/world_pb';
import { BufferPool, decodeSoft, type SoftSurface } from '../src/link/decode';
import { describeWorld } from '../src/link/describe';

const box = (color: number[] = []) => ({
  pose: [0, 0, 0, 1, 0, 0, 0],
  geometry: { case: 'box' as const, value: { size: [1, 1, 1] } },
  color,
});

const { world } = describeWorld(
  create(WorldDescriptionSchema, {
    rigidBodies: [
      { name: 'table', motion: 1, shapes: [box()] },
      { name: 'a/base', motion: 1, shapes: [box()], visuals: [box([1, 0, 0, 1]), box([0, 0, 1, 0.5])] },
      { name: 'a/tip', motion: 3, shapes: [box()] },
      { name: 'b/base', motion: 1 },
    ],
    robots: [
      {
        name: 'a',
        hasGamepad: true,
        links: [1, 2],
        joints: [{ name: 'turn', lower: -1, upper: 2, drive: 2, child: 2 }],
        controllers: [
          { name: 'tool', kind: 1, body: 2, carried: [2], joints: ['turn'] },
          { name: 'hand', kind: 2, joints: ['turn'] },
        ],
        groups: [{ name: 'wrist', joints: ['turn'] }],
      },
      { name: 'b', links: [3], joints: [{ name: 'slide', isPrismatic: true }] },
    ],
    deformables: [
      { name: 'ball', surface: { vertices: [0, 0, 0, 1, 0, 0, 0, 1, 0], indices: [0, 1, 2] }, surfaceToVolume: [7, 2, 5] },
    ],
  }),
  '1',
);

test('a body is shown as it looks where it says so, else as it touches', () => {
  expect(world.rigid[0].colors).toEqual([null]);
  expect(world.rigid[1].shapes).toHaveLength(2);
  expect(world.rigid[1].colors).toEqual([[1, 0, 0, 1], [0, 0, 1, 0.5]]);
  expect(world.rigid[2].shapes).toHaveLength(1);
});

test('links know their robot', () => {
  expect(world.rigid.map(({ robot }) => robot)).toEqual(['', 'a', 'a', 'b']);
});

test('joints are numbered through all robots, as frames have them', () => {
  const [a, b] = world.robots;
  expect(a.joints[0]).toMatchObject({ name: 'turn', index: 0, lower: -1, upper: 2, drive: 'position', slides: false });
  expect(b.joints[0]).toMatchObject({ name: 'slide', index: 1, upper: Infinity, drive: 'none', slides: true });
});

test('controllers are tools with what they carry, or grippers', () => {
  expect(world.robots[0].tools).toEqual([{ name: 'tool', body: 'a/tip', carried: ['a/tip'], joints: ['turn'] }]);
  expect(world.robots[0].grippers).toEqual([{ name: 'hand', joints: ['turn'] }]);
  expect(world.robots[1].tools).toEqual([]);
});

test('soft surfaces are decimated where there are too many vertices to draw', () => {
  const soft = (count: number) => {
    const vertices = Array.from({ length: 3 * count }, (_, i) => i);
    const surface = { vertices, indices: [0, 1, 2, 0, 2, 3] };
    const surfaceToVolume = Array.from({ length: count }, (_, i) => 10 * i);
    const decimated = { decimatedVertices: [1, 4, 5], decimatedTriangles: [0, 1, 2] };
    const body = { name: 'soft', surface, surfaceToVolume, ...decimated };
    return describeWorld(create(WorldDescriptionSchema, { deformables: [body] }), '1');
  };
  const small = soft(100);
  expect(small.tier).toBe(Tier.UNSPECIFIED);
  expect(small.world.soft[0].surfaceVertices).toBe(100);
  const large = soft(60_000);
  expect(large.tier).toBe(Tier.DECIMATED);
  expect(large.world.soft[0].surfaceVertices).toBe(3);
  expect([...large.world.soft[0].indices]).toEqual([0, 1, 2]);
  expect([...large.world.soft[0].volumeVertices]).toEqual([10, 40, 50]);
});

test('a vertex that is drawn is one of the volume mesh', () => {
  expect([...world.soft[0].volumeVertices].sort()).toEqual([2, 5, 7]);
});

test('a robot says whether it maps gamepads itself', () => {
  expect(world.robots.map(({ hasGamepad }) => hasGamepad)).toEqual([true, false]);
});

test('a robot has the groups that may be driven apart', () => {
  expect(world.robots.map(({ groups }) => groups)).toEqual([[{ name: 'wrist', joints: ['turn'] }], []]);
});

const kImage = { object: { sha256: 'abc', size: 4n }, mediaType: 'image/png', width: 2, height: 2 };

test('a textured shape has the coordinates and colours of its render vertices', () => {
  const triangles = {
    pose: [0, 0, 0, 1, 0, 0, 0],
    geometry: { case: 'triangles' as const, value: { vertices: [0, 0, 0, 1, 0, 0, 0, 1, 0], indices: [2, 0, 1] } },
    color: [1, 1, 1, 1],
    appearance: {
      textureCoordinates: [0, 0, 1, 0, 0, 1],
      vertexColors: Uint8Array.from([255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 188, 255]),
      image: kImage,
    },
  };
  const { world } = describeWorld(create(WorldDescriptionSchema, { rigidBodies: [{ name: 'a', visuals: [triangles] }] }), '1');
  const { geometry } = world.rigid[0].shapes[0];
  if (geometry.type !== 'triangles') throw new Error(geometry.type);
  expect(geometry.appearance?.image).toBe('abc');
  expect([...geometry.positions]).toEqual([0, 1, 0, 0, 0, 0, 1, 0, 0]); // in the order of the corners
  expect([...geometry.appearance!.coordinates!]).toEqual([0, 1, 0, 0, 1, 0]);
  expect(geometry.appearance!.colors![2]).toBeCloseTo(0.5, 2); // sRGB 188 is half of the light
  expect([...geometry.appearance!.colors!.slice(3)]).toEqual([1, 0, 0, 0, 1, 0]);
});

// A tetrahedron that carries a triangle and, as another part, a triangle of another colour.
const carrier = {
  name: 'toy',
  surface: { vertices: [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], indices: [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3] },
  surfaceToVolume: [4, 5, 6, 9],
  fields: [1],
  embedded: [
    {
      nodes: [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
      weights: [0.25, 0.25, 0.25, 0.25, -0.5, 1.5, 0, 0, 0, 0, 0.9, 0.1],
      indices: [0, 1, 2],
      color: [1, 1, 1, 1],
      appearance: { textureCoordinates: [0, 0, 1, 0, 0, 1], image: kImage },
    },
    { nodes: Array(3).fill([0, 1, 2, 3]).flat(), weights: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], indices: [0, 2, 1], color: [1, 0, 0, 1] },
  ],
};

test('a soft body shows the finer surface that it carries, in parts', () => {
  const { world, drawn } = describeWorld(create(WorldDescriptionSchema, { deformables: [carrier] }), '1');
  const [toy] = world.soft;
  expect(toy.surfaceVertices).toBe(4); // that frames have
  expect(toy.renderVertices).toBe(6);
  expect([...toy.volumeVertices.slice(0, 3)]).toEqual([4, 5, 6]); // of the heaviest nodes
  expect(toy.appearance?.groups).toEqual([
    { start: 0, count: 3, color: [1, 1, 1, 1], image: 'abc', hasColors: false },
    { start: 3, count: 3, color: [1, 0, 0, 1], image: '', hasColors: false },
  ]);
  expect([...toy.appearance!.coordinates!]).toEqual([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  expect('carried' in drawn[0]).toBe(true);
});

test('a carried surface moves with the nodes of a frame, and shows their field', () => {
  const { drawn } = describeWorld(create(WorldDescriptionSchema, { deformables: [carrier] }), '1');
  // nodes at twice their places, in millimetres
  const places = [0, 0, 0, 2000, 0, 0, 0, 2000, 0, 0, 0, 2000];
  const positions = new Uint8Array(Int16Array.from(places).buffer);
  const body = create(DeformableFrameSchema, { body: 0, positions, origin: [0, 0, 0], scale: [0.001, 0.001, 0.001] });
  const values = new Uint8Array(Uint16Array.from([0, 40000, 0, 0]).buffer);
  const field = create(FieldFrameSchema, { body: 0, measure: 1, values, min: 0, max: 1, components: 1 });
  const frame = decodeSoft(body, field, drawn[0] as SoftSurface, new BufferPool())!;
  const first = [0.5, 0.5, 0.5, 3, 0, 0, 0, 1.8, 0.2];
  first.forEach((x, i) => expect(frame.positions[i]).toBeCloseTo(x, 6));
  // 40000 / 4 at the mean of the nodes, and 1.5 · 40000 outside the tetrahedron
  expect([...frame.field].filter((_, i) => i % 2 === 0).slice(0, 3)).toEqual([10000, 60000, 0]);
  expect(Math.hypot(...frame.normals.slice(0, 3))).toBeCloseTo(1, 5);
});
