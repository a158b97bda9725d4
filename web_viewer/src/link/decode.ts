// Decodes frames into drawable data. Frames that arrive faster than they are drawn are merged, never queued: the latest state
// of each body wins.
import type { DeformableFrame, FieldFrame, Frame, RigidFrame } from '../gen/pliant/v1/stream_pb';
import type { ContactInfo, ForceInfo, FrameInfo, PointFrame, SoftFrame, Vec3 } from './messages';
import { carry } from './appearance';
import { decodePoints, scalarField, type PointCloud } from './points';
import { splitCreases, surfaceCentroid, vertexNormals, type RenderSurface } from './surface';

// Surface of a deformable body, as kept by the worker.
export interface SoftSurface extends RenderSurface {
  surfaceVertices: number; // in frames, including inner nodes that carry a finer surface
  carried?: CarriedSurface; // drawn in place of the surface; `source` then has the node of largest weight of each render vertex
}

// A finer surface that is carried by nodes, not yet split at the seams of its appearance.
export interface CarriedSurface {
  nodes: Uint32Array; // four per vertex, as in frames
  weights: Float32Array; // four per vertex
  indices: Uint32Array;
  smoothOf: Uint32Array; // vertex of each render vertex
}

export function softSurface(vertices: ArrayLike<number>, indices: ArrayLike<number>): SoftSurface {
  return { ...splitCreases(vertices, indices), surfaceVertices: Math.floor(vertices.length / 3) };
}

// Layout of a deformable body in frames.
export type DrawnBody = SoftSurface | PointCloud;

// Buffers returned by the page, for reuse.
export class BufferPool {
  private readonly free = new Map<number, ArrayBuffer[]>();

  take(bytes: number): ArrayBuffer {
    return this.free.get(bytes)?.pop() ?? new ArrayBuffer(bytes);
  }

  give(buffers: ArrayBuffer[]): void {
    for (const buffer of buffers) {
      const shelf = this.free.get(buffer.byteLength) ?? [];
      if (shelf.length < 8 && buffer.byteLength > 0) shelf.push(buffer);
      this.free.set(buffer.byteLength, shelf);
    }
  }

  clear(): void {
    this.free.clear();
  }
}

// The newest frame, completed with the latest state of bodies that it leaves out.
export class LatestFrame {
  private newest: Frame | null = null;
  private readonly rigid = new Map<number, RigidFrame>();
  private readonly soft = new Map<number, DeformableFrame>();
  private readonly fields = new Map<number, FieldFrame>();

  // Returns true when it replaces a frame that was never drawn.
  put(frame: Frame): boolean {
    const replaced = this.newest !== null;

    // states from before and after a reset must not be mixed
    if (this.newest && this.newest.epoch !== frame.epoch) this.clear();
    this.newest = frame;
    for (const body of frame.rigid) this.rigid.set(body.body, body);
    for (const body of frame.deformables) this.soft.set(body.body, body);
    for (const field of frame.fields) this.fields.set(field.body, field);
    return replaced;
  }

  // `names`: names of the bodies by number, rigid bodies first.
  // `drawn`: layouts of the deformable bodies by index.
  take(drawn: DrawnBody[], names: string[], pool: BufferPool): FrameInfo | null {
    const frame = this.newest;
    if (!frame) return null;
    const soft: SoftFrame[] = [];
    const points: PointFrame[] = [];
    for (const body of this.soft.values()) {
      const of = drawn[body.body];
      const field = this.fields.get(body.body);
      if (!of) continue;
      if ('points' in of) {
        const decoded = decodePoints(body, field, of, pool);
        if (decoded) points.push(decoded);
      } else {
        const decoded = decodeSoft(body, field, of, pool);
        if (decoded) soft.push(decoded);
      }
    }
    const rigid = [...this.rigid.values()].filter((body) => body.pose.length === 7);
    const info = frameInfo(frame, names, rigid, soft, points);
    this.clear();
    return info;
  }

  clear(): void {
    this.newest = null;
    this.rigid.clear();
    this.soft.clear();
    this.fields.clear();
  }
}

// Returns null when the frame does not match the surface, because it belongs to another model.
export function decodeSoft(
  body: DeformableFrame,
  shown: FieldFrame | undefined,
  surface: SoftSurface,
  pool: BufferPool,
): SoftFrame | null {
  const vertices = surface.surfaceVertices;
  if (body.positions.byteLength !== vertices * 6 || body.origin.length !== 3 || body.scale.length !== 3) return null;
  const count = surface.source.length;
  const positions = new Float32Array(pool.take(count * 12));
  const normals = new Float32Array(pool.take(count * 12));
  const field = new Uint16Array(pool.take(count * 4));

  // positions: origin + scale · int16, of the render vertices or of the nodes that carry them
  const { source, carried } = surface;
  const packed = new DataView(body.positions.buffer, body.positions.byteOffset, body.positions.byteLength);
  const places = carried ? new Float32Array(vertices * 3) : positions;
  for (let v = 0; v < places.length / 3; ++v) {
    const at = (carried ? v : source[v]) * 6;
    for (let k = 0; k < 3; ++k) places[v * 3 + k] = body.origin[k] + body.scale[k] * packed.getInt16(at + 2 * k, true);
  }
  if (carried) carry(carried, places, vertexNormals, positions, normals);
  else vertexNormals(positions, surface.indices, normals);
  const low: Vec3 = [Infinity, Infinity, Infinity];
  const high: Vec3 = [-Infinity, -Infinity, -Infinity];
  positions.forEach((x, i) => {
    const k = i % 3;
    if (x < low[k]) low[k] = x;
    if (x > high[k]) high[k] = x;
  });

  // the field, or its minimum where none was sent
  const scalars = scalarField(shown, vertices);
  const values = scalars && new DataView(scalars.bytes.buffer, scalars.bytes.byteOffset, scalars.bytes.byteLength);
  const value = (vertex: number) => values!.getUint16(vertex * 2, true);
  for (let v = 0; v < count; ++v) {
    field[v * 2] = !values ? 0 : carried ? carriedValue(carried, v, value) : value(source[v]);
    field[v * 2 + 1] = 32768;
  }

  return {
    body: body.body,
    positions,
    normals,
    field,
    measure: scalars ? (shown?.measure ?? 0) : 0,
    fieldMin: scalars?.min ?? 0,
    fieldMax: scalars?.max ?? 0,
    unit: shown?.unit ?? '',
    centroid: surfaceCentroid(positions, surface.indices),
    low,
    high,
  };
}

// A field at a render vertex of a carried surface, clamped to the range of the field.
function carriedValue({ nodes, weights, smoothOf }: CarriedSurface, v: number, value: (node: number) => number): number {
  let sum = 0;
  for (let i = 4 * smoothOf[v]; i < 4 * smoothOf[v] + 4; ++i) sum += weights[i] * value(nodes[i]);
  return Math.round(Math.min(65535, Math.max(0, sum)));
}

// The i-th vector of a packed array.
function vectorAt(packed: number[], i: number): number[] {
  return packed.slice(3 * i, 3 * i + 3);
}

function contactInfos(frame: Frame, names: string[]): ContactInfo[] {
  const { bodies = [], positions = [], normals = [], forces = [], gaps = [] } = frame.contacts ?? {};
  return gaps.map((_, i) => ({
    position: vectorAt(positions, i),
    normal: vectorAt(normals, i),
    force: vectorAt(forces, i),
    a: names[bodies[2 * i]] ?? '',
    b: names[bodies[2 * i + 1]] ?? '',
  }));
}

function forceInfos(frame: Frame, names: string[]): ForceInfo[] {
  const { bodies = [], forces = [], torques = [], contacts = [] } = frame.forces ?? {};
  return bodies.map((body, i) => ({
    body: names[body] ?? '',
    force: vectorAt(forces, i),
    torque: vectorAt(torques, i),
    contacts: contacts[i] ?? 0,
  }));
}

function frameInfo(
  frame: Frame,
  names: string[],
  rigid: RigidFrame[],
  soft: SoftFrame[],
  points: PointFrame[],
): FrameInfo {
  const mode = frame.clock?.mode;
  const factor = mode?.case === 'realTime' ? mode.value.factor || 1 : 1;
  const clock = mode?.case === 'realTime' || mode?.case === 'freeRun' ? mode.case : 'paused';
  return {
    frame: Number(frame.frame),
    step: Number(frame.step),
    time: frame.time,
    epoch: frame.epoch,
    stopped: frame.stopped,
    rigid: rigid.map(({ body, pose }) => ({ body, pose })),
    soft,
    points,
    contacts: contactInfos(frame, names),
    forces: forceInfos(frame, names),
    report: frame.report
      ? {
          converged: frame.report.converged,
          stalled: frame.report.stalled,
          iterations: frame.report.iterations,
          residual: frame.report.residual,
          stepsNotConverged: Number(frame.report.stepsNotConverged),
          reason: frame.report.reason,
          compromises: Object.entries(frame.report.compromises).map(([kind, count]) => [kind, Number(count)]),
          contacts: frame.report.contacts,
          stepSeconds: frame.report.stepSeconds,
          realTimeRate: frame.report.realTimeRate,
          kineticEnergy: frame.report.kineticEnergy,
          elasticEnergy: frame.report.elasticEnergy,
        }
      : null,
    clock: { mode: clock, factor },
    fault: frame.fault
      ? { step: Number(frame.fault.step), reason: frame.fault.reason, body: frame.fault.body }
      : null,
    drivers: frame.commands.map((echo) => ({
      target: echo.target,
      client: echo.client,
      step: Number(echo.appliedStep),
      priority: echo.priority,
    })),
    joints: {
      positions: frame.joints?.positions ?? [],
      velocities: frame.joints?.velocities ?? [],
      targets: frame.joints?.targets ?? [],
      efforts: frame.joints?.efforts ?? [],
    },
  };
}
