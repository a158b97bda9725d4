import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { FrameSchema, type DeformableFrame } from '../src/gen/pliant/v1/stream_pb';
import { BufferPool, decodeSoft, LatestFrame, softSurface } from '../src/link/decode';

const kCorners = [0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.1, 0.7, 0.3, 0.1, 0.2, 0.9];
const kSurface = softSurface(kCorners, [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]);

function frame(id: number, epoch: number, positions: number[] | null, x = 0) {
  return create(FrameSchema, {
    frame: BigInt(id),
    step: BigInt(id),
    epoch,
    rigid: [{ body: 0, pose: [x, 0, 0, 1, 0, 0, 0] }],
    deformables: positions ? [quantised(positions)] : [],
  });
}

function quantised(positions: number[], field = [0, 1, 2, 3]) {
  const low = [0, 1, 2].map((k) => Math.min(...positions.filter((_, i) => i % 3 === k)));
  const high = [0, 1, 2].map((k) => Math.max(...positions.filter((_, i) => i % 3 === k)));
  const scale = low.map((x, k) => (high[k] - x) / 32767);
  const packed = Int16Array.from(positions, (x, i) => Math.round((x - low[i % 3]) / scale[i % 3]));
  const values = Uint16Array.from(field, (x) => Math.round((x / 3) * 65535));
  return {
    body: 0,
    origin: low,
    scale,
    positions: new Uint8Array(packed.buffer),
    field: new Uint8Array(values.buffer),
    fieldMax: 3,
  };
}

describe('a deformable frame', () => {
  test('is read to half a quantum', () => {
    const soft = decodeSoft(frame(1, 1, kCorners).deformables[0], kSurface, new BufferPool())!;
    kSurface.source.forEach((from, to) => {
      for (let k = 0; k < 3; ++k) expect(soft.positions[to * 3 + k]).toBeCloseTo(kCorners[from * 3 + k], 4);
    });
    kSurface.source.forEach((from, to) => expect(soft.field[to * 2]).toBe(Math.round((from / 3) * 65535)));
    expect(soft.high[2]).toBeCloseTo(0.9, 4);
  });

  test('of another surface is refused', () => {
    const odd = frame(1, 1, [...kCorners, 1, 1, 1]).deformables[0] as DeformableFrame;
    expect(decodeSoft(odd, kSurface, new BufferPool())).toBeNull();
  });

  test('reuses the buffers that came back', () => {
    const pool = new BufferPool();
    const first = decodeSoft(frame(1, 1, kCorners).deformables[0], kSurface, pool)!;
    pool.give([first.positions.buffer as ArrayBuffer]);
    const second = decodeSoft(frame(2, 1, kCorners).deformables[0], kSurface, pool)!;
    expect([second.positions.buffer, second.normals.buffer]).toContain(first.positions.buffer);
  });
});

describe('frames that pile up', () => {
  test('become the latest one, with bodies that it left out', () => {
    const latest = new LatestFrame();
    expect(latest.put(frame(1, 1, kCorners, 0.1))).toBe(false);
    expect(latest.put(frame(2, 1, null, 0.2))).toBe(true);
    const drawn = latest.take([kSurface], new BufferPool())!;
    expect(drawn.frame).toBe(2);
    expect(drawn.rigid).toEqual([{ body: 0, pose: [0.2, 0, 0, 1, 0, 0, 0] }]);
    expect(drawn.soft).toHaveLength(1);
    expect(latest.take([kSurface], new BufferPool())).toBeNull();
  });

  test('bring nothing over a reset', () => {
    const latest = new LatestFrame();
    latest.put(frame(1, 1, kCorners));
    latest.put(frame(2, 2, null));
    expect(latest.take([kSurface], new BufferPool())!.soft).toHaveLength(0);
  });
});
