// Frames of a real server and the numbers that they stand for, which the clients in all languages decode.
import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import vectors from '../../../tests/frames/frames.json';
import { FrameSchema, Precision, Tier, type Frame } from '../../src/gen/pliant/v1/stream_pb';
import { WorldDescriptionSchema } from '../../src/gen/pliant/v1/world_pb';
import { BufferPool, decodeSoft, softSurface } from '../../src/link/decode';

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const world = fromBinary(WorldDescriptionSchema, fromBase64(vectors.description));

type Numbers = Record<string, number[]>;
interface Field {
  values: number[];
}

const read = (bytes: string): Frame => fromBinary(FrameSchema, fromBase64(bytes));
const drawn = vectors.frames.filter(({ bytes }) => {
  const frame = read(bytes);
  return frame.deformables.some(({ precision, tier }) => precision === Precision.UNSPECIFIED && tier === Tier.UNSPECIFIED);
});

describe('frames of a server', () => {
  test('are there', () => expect(drawn.length).toBeGreaterThan(0));

  test.each(drawn)('$name', ({ bytes, expected }) => {
    const frame = read(bytes);
    for (const body of frame.deformables) {
      const { name, surface } = world.deformables[body.body];
      const field = frame.fields.find((each) => each.body === body.body && each.components === 1);
      const shown = softSurface(surface!.vertices, surface!.indices);
      const soft = decodeSoft(body, field, shown, new BufferPool())!;
      expect(soft).not.toBeNull();

      const positions = (expected as unknown as { positions: Numbers }).positions[name];
      const fields = (expected as unknown as { fields: Record<string, Record<string, Field>> }).fields[name];
      const strain = fields.FIELD_MEASURE_VON_MISES_STRAIN.values;
      // single precision keeps seven digits
      shown.source.forEach((from, to) => {
        for (let k = 0; k < 3; ++k) expect(soft.positions[3 * to + k]).toBeCloseTo(positions[3 * from + k], 6);
        const value = soft.fieldMin + ((soft.fieldMax - soft.fieldMin) * soft.field[2 * to]) / 65535;
        expect(value).toBeCloseTo(strain[from], 12);
      });
    }
    for (const body of frame.rigid) {
      expect(body.pose).toEqual((expected as unknown as { rigid: Numbers }).rigid[world.rigidBodies[body.body].name]);
    }
  });
});
