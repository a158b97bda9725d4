import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { Tier } from '../src/gen/pliant/v1/stream_pb';
import { WorldDescriptionSchema } from '../src/gen/pliant/v1/world_pb';
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
