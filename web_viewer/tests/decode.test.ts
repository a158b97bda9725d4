import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { FrameSchema, type Frame } from '../src/gen/pliant/v1/stream_pb';
import { BufferPool, decodeSoft, LatestFrame, softSurface } from '../src/link/decode';

const kCorners = [0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.1, 0.7, 0.3, 0.1, 0.2, 0.9];
const kNames = ['floor', 'ball']; // a rigid and a deformable body
const kSurface = softSurface(kCorners, [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]);

function frame(id: number, epoch: number, positions: number[] | null, x = 0) {
  return create(FrameSchema, {
    frame: BigInt(id),
    step: BigInt(id),
    epoch,
    rigid: [{ body: 0, pose: [x, 0, 0, 1, 0, 0, 0] }],
    deformables: positions ? [quantised(positions)] : [],
    fields: positions ? [strain([0, 1, 2, 3])] : [],
  });
}

function strain(field: number[]) {
  const values = Uint16Array.from(field, (x) => Math.round((x / 3) * 65535));
  return { body: 0, measure: 1, max: 3, values: new Uint8Array(values.buffer) };
}

function decode(shown: Frame, pool = new BufferPool()) {
  return decodeSoft(shown.deformables[0], shown.fields[0], kSurface, pool);
}

function quantised(positions: number[]) {
  const low = [0, 1, 2].map((k) => Math.min(...positions.filter((_, i) => i % 3 === k)));
  const high = [0, 1, 2].map((k) => Math.max(...positions.filter((_, i) => i % 3 === k)));
  const scale = low.map((x, k) => (high[k] - x) / 32767);
  const packed = Int16Array.from(positions, (x, i) => Math.round((x - low[i % 3]) / scale[i % 3]));
  return {
    body: 0,
    origin: low,
    scale,
    positions: new Uint8Array(packed.buffer),
  };
}

describe('a deformable frame', () => {
  test('is read to half a quantum', () => {
    const soft = decode(frame(1, 1, kCorners))!;
    kSurface.source.forEach((from, to) => {
      for (let k = 0; k < 3; ++k) expect(soft.positions[to * 3 + k]).toBeCloseTo(kCorners[from * 3 + k], 4);
    });
    kSurface.source.forEach((from, to) => expect(soft.field[to * 2]).toBe(Math.round((from / 3) * 65535)));
    expect(soft.high[2]).toBeCloseTo(0.9, 4);
  });

  test('of another surface is refused', () => {
    expect(decode(frame(1, 1, [...kCorners, 1, 1, 1]))).toBeNull();
  });

  test('reuses the buffers that came back', () => {
    const pool = new BufferPool();
    const first = decode(frame(1, 1, kCorners), pool)!;
    pool.give([first.positions.buffer as ArrayBuffer]);
    const second = decode(frame(2, 1, kCorners), pool)!;
    expect([second.positions.buffer, second.normals.buffer]).toContain(first.positions.buffer);
  });
});

describe('a frame', () => {
  test('names the bodies of contacts and forces', () => {
    const latest = new LatestFrame();
    latest.put(
      create(FrameSchema, {
        frame: 1n,
        contacts: {
          bodies: [0, 1, 1, 0],
          positions: [1, 2, 3, 4, 5, 6],
          normals: [0, 0, 1, 0, 0, -1],
          forces: [0, 0, 7, 0, 0, -7],
          gaps: [0, 0.5],
        },
        forces: { bodies: [1], forces: [0, 0, 7], torques: [1, 0, 0], contacts: [2] },
      }),
    );
    const shown = latest.take([], kNames, new BufferPool())!;
    expect(shown.contacts).toEqual([
      { position: [1, 2, 3], normal: [0, 0, 1], force: [0, 0, 7], a: 'floor', b: 'ball' },
      { position: [4, 5, 6], normal: [0, 0, -1], force: [0, 0, -7], a: 'ball', b: 'floor' },
    ]);
    expect(shown.forces).toEqual([{ body: 'ball', force: [0, 0, 7], torque: [1, 0, 0], contacts: 2 }]);
  });
});

describe('frames that pile up', () => {
  test('become the latest one, with bodies that it left out', () => {
    const latest = new LatestFrame();
    expect(latest.put(frame(1, 1, kCorners, 0.1))).toBe(false);
    expect(latest.put(frame(2, 1, null, 0.2))).toBe(true);
    const drawn = latest.take([kSurface], kNames, new BufferPool())!;
    expect(drawn.frame).toBe(2);
    expect(drawn.rigid).toEqual([{ body: 0, pose: [0.2, 0, 0, 1, 0, 0, 0] }]);
    expect(drawn.soft).toHaveLength(1);
    expect(latest.take([kSurface], kNames, new BufferPool())).toBeNull();
  });

  test('bring nothing over a reset', () => {
    const latest = new LatestFrame();
    latest.put(frame(1, 1, kCorners));
    latest.put(frame(2, 2, null));
    expect(latest.take([kSurface], kNames, new BufferPool())!.soft).toHaveLength(0);
  });
});
