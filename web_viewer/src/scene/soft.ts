// A deformable body: its smoothly shaded surface, or the finer surface that it carries, coloured by a field through a colour
// table or with its own colours.
import { Box3, BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh, MeshPhysicalMaterial, Vector3, type Face } from 'three';
import type { Color, SoftFrame, SoftInfo } from '../link/messages';
import { FieldColors } from './field_colors';
import type { Materials } from './materials';
import type { Range } from './range';
import { addAppearance } from './shapes';

const kPlain: Color = [0.78, 0.74, 0.66, 1]; // of bodies without colours of their own

export class SoftBody {
  readonly object: Mesh<BufferGeometry, MeshPhysicalMaterial | MeshPhysicalMaterial[]>;
  latest: SoftFrame | null = null;
  readonly bounds = new Box3();
  private readonly colors = new FieldColors();
  private readonly ofField: MeshPhysicalMaterial;
  private readonly own: MeshPhysicalMaterial | MeshPhysicalMaterial[];

  constructor(
    readonly info: SoftInfo,
    plain: boolean,
    materials: Materials,
  ) {
    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(info.indices, 1));
    addAppearance(geometry, info.appearance);
    const groups = info.appearance?.groups ?? [];
    groups.forEach(({ start, count }, i) => geometry.addGroup(start, count, i));
    this.own = info.appearance
      ? groups.map(({ color, image, hasColors }) => materials.ofColor(color, image, hasColors))
      : materials.ofColor(kPlain);
    this.ofField = new MeshPhysicalMaterial({
      map: this.colors.table,
      roughness: 0.46,
      clearcoat: plain ? 0 : 0.25,
      clearcoatRoughness: 0.4,
      envMapIntensity: 0.9,
    });
    this.object = new Mesh<BufferGeometry, MeshPhysicalMaterial | MeshPhysicalMaterial[]>(geometry, this.ofField);
    this.object.castShadow = this.object.receiveShadow = true;
    this.object.frustumCulled = false;
    this.object.visible = false;
    this.object.name = info.name;
  }

  // Shows the colours of a field, or the body's own.
  showField(on: boolean): void {
    this.object.material = on ? this.ofField : this.own;
  }

  // The corner of a face nearest to a point: its vertex in the volume mesh, and its present position.
  grab(face: Face, point: Vector3): { vertex: number; place(): Vector3 } {
    const at = (corner: number) => new Vector3().fromBufferAttribute(this.object.geometry.getAttribute('position'), corner);
    const [corner] = [face.a, face.b, face.c].sort((a, b) => at(a).distanceTo(point) - at(b).distanceTo(point));
    return { vertex: this.info.volumeVertices[corner], place: () => at(corner) };
  }

  // Shows a frame. Returns the buffers of the previous one for reuse.
  update(frame: SoftFrame): ArrayBuffer[] {
    const before = this.latest;
    this.latest = frame;
    this.setAttribute('position', frame.positions, 3, false);
    this.setAttribute('normal', frame.normals, 3, false);
    this.setAttribute('uv', frame.field, 2, true);
    this.bounds.min.fromArray(frame.low);
    this.bounds.max.fromArray(frame.high);
    this.object.visible = true;
    return before ? [before.positions.buffer, before.normals.buffer, before.field.buffer] as ArrayBuffer[] : [];
  }

  setRange(range: Range, diverging: boolean): void {
    if (this.latest) this.colors.setRange(range, diverging, this.latest);
  }

  dispose(): void {
    this.object.geometry.dispose();
    this.ofField.dispose();
    this.colors.dispose();
  }

  // Reuses the attribute of this name, and with it its GPU buffer, while the size stays the same.
  private setAttribute(name: string, array: Float32Array | Uint16Array, size: number, normalized: boolean): void {
    const { geometry } = this.object;
    const attribute = geometry.getAttribute(name) as BufferAttribute | undefined;
    if (attribute && attribute.array.length === array.length) {
      attribute.array = array;
      attribute.needsUpdate = true;
      return;
    }
    const fresh = new BufferAttribute(array, size, normalized);
    fresh.setUsage(DynamicDrawUsage);
    geometry.setAttribute(name, fresh);
  }
}
