// A body of particles: balls, coloured by a field through a colour table. Their positions stay quantised, as in frames.
import {
  Box3,
  BufferAttribute,
  BufferGeometry,
  DynamicDrawUsage,
  Points,
  Vector2,
  Vector3,
  type Intersection,
  type Raycaster,
  type ShaderMaterial,
  type TypedArray,
  type WebGLRenderer,
} from 'three';
import type { PointFrame, PointsInfo } from '../../link/messages';
import { largest } from '../../link/points';
import { FieldColors } from '../field_colors';
import type { Range } from '../range';
import { setUp } from './light';
import { sphereDepth, sphereMaterial, sphereShadow, sphereUniforms } from './sphere_material';

export class PointBody {
  readonly object: Points<BufferGeometry, ShaderMaterial>;
  readonly depths: Points<BufferGeometry, ShaderMaterial>; // for a ParticleSurface
  readonly largest: number; // radius [m]
  // True if a surface is drawn around the balls, which then only cast shadows, except the marked one.
  covered = false;
  latest: PointFrame | null = null;
  readonly bounds = new Box3();
  private readonly uniforms = sphereUniforms();
  private readonly colors = new FieldColors();
  private readonly shadow: ShaderMaterial;

  constructor(
    readonly info: PointsInfo,
    plain: boolean,
  ) {
    this.largest = largest(info.radii);
    const geometry = new BufferGeometry();
    geometry.setAttribute('radius', new BufferAttribute(info.radii, 1));
    const material = sphereMaterial(this.uniforms, this.colors.table, plain);
    this.shadow = sphereShadow(this.uniforms);
    this.object = new Points(geometry, material);
    this.object.name = info.name;
    this.object.castShadow = true;
    this.object.customDepthMaterial = this.shadow;
    this.object.frustumCulled = false;
    this.object.visible = false;
    this.object.raycast = (ray, hits) => this.cast(ray, hits);
    this.object.onBeforeShadow = (renderer) => this.prepare(renderer, false);
    this.object.onBeforeRender = (renderer, _scene, camera) => {
      this.prepare(renderer, this.covered);
      setUp(material, camera);
    };
    this.depths = new Points(geometry, sphereDepth(this.uniforms, this.colors.table));
    this.depths.frustumCulled = false;
    this.depths.onBeforeRender = (renderer) => this.prepare(renderer, false);
  }

  // Shows a frame. Returns the buffers of the previous one for reuse.
  update(frame: PointFrame): ArrayBuffer[] {
    const before = this.latest;
    this.latest = frame;
    this.setAttribute('position', frame.positions, 3, false);
    this.setAttribute('field', frame.field, 1, true);
    this.setIndex(frame.seen);
    this.uniforms.origin.value.fromArray(frame.origin);
    this.uniforms.quantum.value.fromArray(frame.scale);
    this.bounds.min.fromArray(frame.low);
    this.bounds.max.fromArray(frame.high);
    this.bounds.expandByScalar(this.largest);
    this.object.geometry.boundingBox = this.bounds;
    this.object.visible = true;
    return before ? ([before.positions, before.field, before.seen].map(({ buffer }) => buffer) as ArrayBuffer[]) : [];
  }

  setRange(range: Range, diverging: boolean): void {
    if (this.latest) this.colors.setRange(range, diverging, this.latest);
  }

  // Highlights a point by its index in frames; null: none.
  mark(index: number | null): void {
    this.uniforms.marked.value = index ?? -1;
    if (this.latest) this.setIndex(this.latest.seen);
  }

  // Number of a point in the body, from its index in frames.
  numberOf(index: number): number {
    return this.info.numbers?.[index] ?? index;
  }

  place(index: number): Vector3 {
    const { origin, quantum } = this.uniforms;
    const at = new Vector3();
    if (this.latest) at.fromArray(this.latest.positions, 3 * index);
    return at.multiply(quantum.value).add(origin.value);
  }

  // Value of the latest frame's field at a point.
  valueAt(index: number): number {
    if (!this.latest) return NaN;
    const { field, fieldMin, fieldMax } = this.latest;
    return fieldMin + ((fieldMax - fieldMin) * field[index]) / 65535;
  }

  dispose(): void {
    this.object.geometry.dispose();
    for (const material of [this.object.material, this.depths.material, this.shadow]) material.dispose();
    this.colors.dispose();
  }

  // Adds the first ball that a ray meets.
  private cast({ ray, near, far }: Raycaster, hits: Intersection[]): void {
    if (!this.latest || !ray.intersectsBox(this.bounds)) return;
    const { positions, origin, scale } = this.latest;
    const { radii } = this.info;
    const { x: dx, y: dy, z: dz } = ray.direction;
    const from = [origin[0] - ray.origin.x, origin[1] - ray.origin.y, origin[2] - ray.origin.z];
    let [nearest, index] = [far, -1];
    for (let i = 0; i < radii.length; ++i) {
      const x = from[0] + scale[0] * positions[3 * i];
      const y = from[1] + scale[1] * positions[3 * i + 1];
      const z = from[2] + scale[2] * positions[3 * i + 2];
      const along = x * dx + y * dy + z * dz;
      const half = radii[i] * radii[i] - (x * x + y * y + z * z - along * along); // square of half the chord
      if (half < 0) continue;
      const distance = along - Math.sqrt(half);
      if (distance < near || distance >= nearest) continue;
      [nearest, index] = [distance, i];
    }
    if (index < 0) return;
    hits.push({ distance: nearest, point: ray.at(nearest, new Vector3()), object: this.object, index });
  }

  // Prepares the shared geometry. Call right before each drawing.
  private prepare(renderer: WebGLRenderer, onlyMarked: boolean): void {
    this.uniforms.pixels.value = renderer.getRenderTarget()?.height ?? renderer.getDrawingBufferSize(new Vector2()).y;
    this.colors.table.updateMatrix();
    const first = onlyMarked ? this.numSeen : 0;
    const end = this.numSeen + (this.uniforms.marked.value < 0 ? 0 : 1);
    this.object.geometry.setDrawRange(first, end - first);
  }

  private get numSeen(): number {
    return this.latest?.numSeen ?? 0;
  }

  // Draws the points that may be seen, and after them the marked one, which may be hidden.
  private setIndex(seen: Uint32Array): void {
    seen[this.numSeen] = Math.max(0, this.uniforms.marked.value);
    const { geometry } = this.object;
    geometry.setIndex(renew(geometry.index, seen, 1, false));
  }

  private setAttribute(name: string, array: Int16Array | Uint16Array, size: number, normalized: boolean): void {
    const { geometry } = this.object;
    const before = geometry.getAttribute(name) as BufferAttribute | undefined;
    geometry.setAttribute(name, renew(before ?? null, array, size, normalized));
  }
}

// The same attribute with other numbers, and with it its GPU buffer: a body always has the same number of points. A new one if
// there is none yet.
function renew(before: BufferAttribute | null, array: TypedArray, size: number, normalized: boolean): BufferAttribute {
  if (!before) return new BufferAttribute(array, size, normalized).setUsage(DynamicDrawUsage);
  before.array = array;
  before.needsUpdate = true;
  return before;
}
