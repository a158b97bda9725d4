// Decodes the frames of bodies of points. Positions stay quantised and are computed by the graphics processor, so a frame costs
// little more than a copy.
import type { DeformableFrame, FieldFrame } from '../gen/pliant/v1/stream_pb';
import type { BufferPool } from './decode';
import type { PointFrame, Vec3 } from './messages';
import { SeenPoints } from './seen_points';

// A body of points, as kept by the worker.
export interface PointCloud {
  points: number; // number in frames
  radius: number; // largest one drawn [m]
}

// The largest of some radii.
export function largest(radii: Float32Array): number {
  return radii.reduce((max, radius) => Math.max(max, radius), 0);
}

const kLargest = 32767; // quantised coordinate
const kFieldSteps = 65535;
const seenPoints = new SeenPoints();

// Returns null when the frame does not match the body, because it belongs to another model.
export function decodePoints(
  body: DeformableFrame,
  shown: FieldFrame | undefined,
  { points, radius }: PointCloud,
  pool: BufferPool,
): PointFrame | null {
  if (body.positions.byteLength !== points * 6 || body.origin.length !== 3 || body.scale.length !== 3) return null;
  const positions = new Int16Array(pool.take(points * 6));
  new Uint8Array(positions.buffer).set(body.positions);
  const field = new Uint16Array(pool.take(points * 2));
  const values = scalarField(shown, points);
  if (values) new Uint8Array(field.buffer).set(values.bytes);
  else field.fill(0);

  const scale: Vec3 = [body.scale[0], body.scale[1], body.scale[2]];
  const seen = new Uint32Array(pool.take(4 * (points + 1)));
  const numSeen = seenPoints.find(positions, scale, radius, seen);

  const sum = [0, 0, 0];
  for (let i = 0; i < positions.length; i += 3) {
    sum[0] += positions[i];
    sum[1] += positions[i + 1];
    sum[2] += positions[i + 2];
  }
  const at = (numbers: (k: number) => number): Vec3 =>
    [0, 1, 2].map((k) => body.origin[k] + body.scale[k] * numbers(k)) as Vec3;
  return {
    body: body.body,
    positions,
    origin: at(() => 0),
    scale,
    seen,
    numSeen,
    field,
    measure: values ? (shown?.measure ?? 0) : 0,
    fieldMin: values?.min ?? 0,
    fieldMax: values?.max ?? 0,
    unit: shown?.unit ?? '',
    centroid: at((k) => sum[k] / Math.max(1, points)),
    low: at(() => 0),
    high: at(() => kLargest),
  };
}

export interface ScalarField {
  bytes: Uint8Array; // uint16 little endian per vertex or point, from 0 at min to 65535 at max
  min: number;
  max: number;
}

// A scalar per vertex or point: the values of the field, or the lengths of its vectors. Null if their number is not `count`.
export function scalarField(shown: FieldFrame | undefined, count: number): ScalarField | null {
  if (!shown) return null;
  const { values, min, max } = shown;
  const components = Math.max(1, shown.components);
  if (values.byteLength !== 2 * components * count) return null;
  if (components === 1) return { bytes: values, min, max };

  const packed = new DataView(values.buffer, values.byteOffset, values.byteLength);
  const lengths = new Float32Array(count);
  let longest = 0;
  for (let i = 0; i < count; ++i) {
    let square = 0;
    for (let k = 0; k < components; ++k) {
      const part = min + ((max - min) / kFieldSteps) * packed.getUint16(2 * (components * i + k), true);
      square += part * part;
    }
    lengths[i] = Math.sqrt(square);
    longest = Math.max(longest, lengths[i]);
  }
  const steps = longest > 0 ? kFieldSteps / longest : 0;
  return { bytes: new Uint8Array(Uint16Array.from(lengths, (x) => Math.round(steps * x)).buffer), min: 0, max: longest };
}
