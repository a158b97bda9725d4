import { create } from '@bufbuild/protobuf';
import { Box3, Raycaster, Vector3 } from 'three';
import { describe, expect, test } from 'vitest';
import { FrameSchema, type DeformableFrame, type FieldFrame } from '../../src/gen/pliant/v1/stream_pb';
import { WorldDescriptionSchema } from '../../src/gen/pliant/v1/world_pb';
import { Tier } from '../../src/gen/pliant/v1/stream_pb';
import { BufferPool, LatestFrame, softSurface } from '../../src/link/decode';
import { describeWorld } from '../../src/link/describe';
import type { PointsInfo } from '../../src/link/messages';
import { decodePoints, scalarField } from '../../src/link/points';
import { SeenPoints } from '../../src/link/seen_points';
import { particleText } from '../../src/panel/panel';
import { PointBody } from '../../src/scene/points/point_body';

// Points i in a row, at (0.01 i, 0.5, 0.02 i), with speeds of i m/s.
function row(count: number, body = 0): { positions: DeformableFrame; speeds: FieldFrame } {
  const numbers = Int16Array.from({ length: 3 * count }, (_, i) => (i % 3 === 1 ? 0 : Math.floor(i / 3)));
  const values = Uint16Array.from({ length: count }, (_, i) => Math.round((65535 * i) / Math.max(1, count - 1)));
  const frame = create(FrameSchema, {
    deformables: [
      { body, origin: [0, 0.5, 0], scale: [0.01, 0, 0.02], positions: new Uint8Array(numbers.buffer) },
    ],
    fields: [{ body, measure: 13, min: 0, max: count - 1, values: new Uint8Array(values.buffer), unit: 'm/s', components: 1 }],
  });
  return { positions: frame.deformables[0], speeds: frame.fields[0] };
}

function info(radii: number[], numbers: number[] | null = null): PointsInfo {
  const shown = { radii: Float32Array.from(radii), numbers: numbers && Uint32Array.from(numbers) };
  return { name: 'dough', body: 0, fields: [1, 13], youngsModulus: 0, count: 4 * radii.length, ...shown };
}

describe('a frame of points', () => {
  test('keeps the quantised numbers of the server', () => {
    const { positions, speeds } = row(5);
    const frame = decodePoints(positions, speeds, { points: 5, radius: 0.004 }, new BufferPool())!;
    expect([...frame.positions.slice(6, 9)]).toEqual([2, 0, 2]);
    expect(frame.field[4]).toBe(65535);
    expect(frame.measure).toBe(13);
    expect([frame.fieldMin, frame.fieldMax, frame.unit]).toEqual([0, 4, 'm/s']);
    [0.02, 0.5, 0.04].forEach((x, k) => expect(frame.centroid[k]).toBeCloseTo(x, 12));
    expect(frame.low).toEqual([0, 0.5, 0]);
  });

  test('of another number of points is refused', () => {
    expect(decodePoints(row(5).positions, undefined, { points: 4, radius: 0.004 }, new BufferPool())).toBeNull();
  });

  test('without a field shows no measure, whatever the reused buffer had', () => {
    const pool = new BufferPool();
    const { positions, speeds } = row(5);
    pool.give([decodePoints(positions, speeds, { points: 5, radius: 0.004 }, pool)!.field.buffer as ArrayBuffer]);
    const frame = decodePoints(positions, undefined, { points: 5, radius: 0.004 }, pool)!;
    expect(frame.measure).toBe(0);
    expect([...frame.field]).toEqual([0, 0, 0, 0, 0]);
  });

  test('goes to its body among surfaces', () => {
    const latest = new LatestFrame();
    const { positions, speeds } = row(3, 1);
    latest.put(create(FrameSchema, { frame: 1n, deformables: [positions], fields: [speeds] }));
    const surface = softSurface([0, 0, 0, 1, 0, 0, 0, 1, 0], [0, 1, 2]);
    const shown = latest.take([surface, { points: 3, radius: 0.004 }], ['cloth', 'dough'], new BufferPool())!;
    expect(shown.soft).toHaveLength(0);
    expect(shown.points.map(({ body }) => body)).toEqual([1]);
  });

  test('of 100,000 is decoded within 4 ms', () => {
    const count = 100_000;
    const { positions, speeds } = row(count);
    // a pile, whose inner points are found
    const places = Int16Array.from({ length: 3 * count }, (_, i) => 600 * (Math.floor(i / 3 / 47 ** (i % 3)) % 47));
    const pile = { ...positions, scale: [0.001, 0.001, 0.001], positions: new Uint8Array(places.buffer) };
    const pool = new BufferPool();
    let least = Infinity;
    let drawn = 0;
    for (let i = 0; i < 30; ++i) {
      const start = performance.now();
      const { positions: at, field, seen, numSeen } = decodePoints(pile, speeds, { points: count, radius: 0.3 }, pool)!;
      least = Math.min(least, performance.now() - start);
      pool.give([at.buffer, field.buffer, seen.buffer] as ArrayBuffer[]);
      drawn = numSeen;
    }
    expect(drawn).toBeLessThan(0.25 * count);
    expect(least).toBeLessThan(4);
  });
});

describe('points that may be seen', () => {
  const radius = 250; // of balls in quanta, which touch in a lattice
  const find = (positions: Int16Array, scale = 1) => {
    const seen = new Uint32Array(positions.length / 3);
    return seen.subarray(0, new SeenPoints().find(positions, [scale, scale, scale], scale * radius, seen));
  };
  const cube = (count: number) => {
    const all: number[] = [];
    for (let z = 0; z < count; ++z)
      for (let y = 0; y < count; ++y) for (let x = 0; x < count; ++x) all.push(2 * radius * x, 2 * radius * y, 2 * radius * z);
    return Int16Array.from(all);
  };

  test('are those near the surface of a pile', () => {
    const count = 20;
    const positions = cube(count);
    const seen = new Set(find(positions));
    expect(seen.size).toBeLessThan(0.55 * count ** 3);
    for (let i = 0; i < count ** 3; ++i) {
      const places = [0, 1, 2].map((k) => positions[3 * i + k] / (2 * radius));
      const layer = Math.min(...places, ...places.map((place) => count - 1 - place));
      if (layer < 2) expect(seen.has(i), `point ${places}`).toBe(true); // gaps show what is behind the first layer
      if (layer >= 4) expect(seen.has(i), `point ${places}`).toBe(false);
    }
  });

  test('are all around a hole, and all of scattered ones', () => {
    const count = 20;
    const whole = cube(count);
    const middle = count * radius;
    const hollow: number[] = [];
    for (let i = 0; i < whole.length; i += 3) {
      const away = Math.hypot(whole[i] - middle, whole[i + 1] - middle, whole[i + 2] - middle);
      if (away > 5 * 2 * radius) hollow.push(whole[i], whole[i + 1], whole[i + 2]);
    }
    const seen = new Set(find(Int16Array.from(hollow)));
    for (let i = 0; i < hollow.length; i += 3) {
      const away = Math.hypot(hollow[i] - middle, hollow[i + 1] - middle, hollow[i + 2] - middle);
      if (away < 6.5 * 2 * radius) expect(seen.has(i / 3)).toBe(true);
    }
    const scattered = whole.map((x) => 3 * x);
    expect(find(scattered)).toHaveLength(count ** 3);
  });

  test('are all of a body that is very large for its balls', () => {
    const positions = Int16Array.from([0, 0, 0, 32767, 32767, 32767]);
    const seen = new Uint32Array(2);
    expect(new SeenPoints().find(positions, [1, 1, 1], 1, seen)).toBe(2);
    expect([...seen]).toEqual([0, 1]);
  });
});

test('a field of vectors is shown by their lengths', () => {
  // (3, 4, 0) and (0, 0, −1) from −1 to 4
  const values = Uint16Array.from([3, 4, 0, 0, 0, -1], (x) => Math.round(((x + 1) / 5) * 65535));
  const field = create(FrameSchema, {
    fields: [{ body: 0, measure: 8, min: -1, max: 4, components: 3, values: new Uint8Array(values.buffer) }],
  }).fields[0];
  const { bytes, min, max } = scalarField(field, 2)!;
  const lengths = [...new Uint16Array(bytes.buffer)].map((x) => min + ((max - min) * x) / 65535);
  expect(lengths[0]).toBeCloseTo(5, 3);
  expect(lengths[1]).toBeCloseTo(1, 3);
  expect(scalarField(field, 3)).toBeNull();
});

describe('the description of points', () => {
  const worldOf = (count: number, radii: number[], decimatedVertices: number[]) =>
    describeWorld(
      create(WorldDescriptionSchema, {
        rigidBodies: [{ name: 'floor' }],
        deformables: [
          { name: 'dough', points: { count, radii }, decimatedVertices, fields: [1, 11] },
          { name: 'cloth', surface: { vertices: [0, 0, 0, 1, 0, 0, 0, 1, 0], indices: [0, 1, 2] } },
        ],
      }),
      '1',
    );

  test('numbers them with the surfaces', () => {
    const { world, drawn, names, tier } = worldOf(3, [0.25, 0.5, 1], []);
    expect(tier).toBe(Tier.UNSPECIFIED);
    expect(names).toEqual(['floor', 'dough', 'cloth']);
    expect(drawn[0]).toEqual({ points: 3, radius: 1 });
    expect(world.points[0]).toMatchObject({ name: 'dough', body: 0, count: 3, numbers: null, fields: [1, 11] });
    expect([...world.points[0].radii]).toEqual([0.25, 0.5, 1]);
    expect(world.soft[0]).toMatchObject({ name: 'cloth', body: 1 });
  });

  test('gives all of them one radius if there is one', () => {
    expect([...worldOf(3, [0.5], []).world.points[0].radii]).toEqual([0.5, 0.5, 0.5]);
  });

  test('of very many has fewer and larger ones', () => {
    const { world, drawn, tier } = worldOf(800_000, [0.5], Array.from({ length: 100_000 }, (_, i) => 8 * i + 3));
    expect(tier).toBe(Tier.DECIMATED);
    expect(drawn[0]).toEqual({ points: 100_000, radius: 1 });
    const { radii, numbers } = world.points[0];
    expect(numbers![1]).toBe(11);
    expect(radii[0]).toBeCloseTo(1, 6); // an eighth of the points, twice as large
  });
});

describe('a body of points', () => {
  const shown = (radii: number[], numbers: number[] | null = null) => {
    const body = new PointBody(info(radii, numbers), true);
    const { positions, speeds } = row(radii.length);
    body.update(decodePoints(positions, speeds, { points: radii.length, radius: 0.004 }, new BufferPool())!);
    return body;
  };
  const cast = (body: PointBody, from: [number, number, number], towards: [number, number, number]) =>
    new Raycaster(new Vector3(...from), new Vector3(...towards).normalize()).intersectObject(body.object);

  test('is hit at the ball nearest to the viewer', () => {
    const body = shown([0.004, 0.004, 0.004, 0.004]);
    // along the row, against its direction, 3 mm beside its middle
    const [hit] = cast(body, [0.5, 0.503, 1], [-1, 0, -2]);
    expect(hit.index).toBe(3);
    const chord = Math.sqrt(0.004 ** 2 - 0.003 ** 2);
    expect(hit.distance).toBeCloseTo(Math.hypot(0.47, 0.94) - chord, 9);
    expect(hit.object).toBe(body.object);
    expect(cast(body, [0.5, 0.505, 1], [-1, 0, -2])).toHaveLength(0);
    expect(cast(body, [0.5, 0.503, 1], [1, 0, 2])).toHaveLength(0); // it is behind
  });

  test('knows the number, the place and the value of a point', () => {
    const body = shown([0.01, 0.01, 0.01], [2, 5, 9]);
    expect(body.numberOf(1)).toBe(5);
    expect(body.place(2).toArray()).toEqual([0.02, 0.5, 0.04]);
    expect(body.valueAt(1)).toBeCloseTo(1, 3);
  });

  test('draws what may be seen, and the marked point after it', () => {
    const body = shown([0.004, 0.004, 0.004, 0.004]);
    const { seen, numSeen } = body.latest!;
    expect(numSeen).toBe(4);
    body.mark(2);
    expect(body.object.geometry.index!.array).toBe(seen);
    expect([...seen]).toEqual([0, 1, 2, 3, 2]);
    const next = decodePoints(row(4).positions, row(4).speeds, { points: 4, radius: 0.004 }, new BufferPool())!;
    body.update(next);
    expect(next.seen[4]).toBe(2);
  });

  test('has bounds with its balls', () => {
    const { bounds } = shown([0.01, 0.03, 0.01]);
    const size = new Box3().copy(bounds).getSize(new Vector3());
    expect(size.y).toBeCloseTo(0.06, 6);
  });

  test('returns the buffers of the frame before', () => {
    const body = shown([0.01, 0.01]);
    const { positions, field, seen } = body.latest!;
    const next = decodePoints(row(2).positions, row(2).speeds, { points: 2, radius: 0.004 }, new BufferPool())!;
    expect(body.update(next)).toEqual([positions.buffer, field.buffer, seen.buffer]);
  });
});

test('the inspector names a particle with its place and its value', () => {
  const particle = { body: 'dough', number: 17, position: [0.1, -0.25, 0.03125], measure: 13, value: 0.12345, unit: 'm/s' };
  expect(particleText({ ...particle, position: [0.1, -0.25, 0.03125] })).toBe(
    'Particle 17 of “dough”: (0.1000, -0.2500, 0.0313) m, 0.123 m/s',
  );
  expect(particleText({ ...particle, position: [0, 0, 0], measure: 0 })).toBe('Particle 17 of “dough”: (0.0000, 0.0000, 0.0000) m');
});
