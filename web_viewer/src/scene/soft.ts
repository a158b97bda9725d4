// A deformable body: its smoothly shaded surface, coloured by a field through a colour table.
import {
  BufferAttribute,
  BufferGeometry,
  DataTexture,
  DynamicDrawUsage,
  LinearFilter,
  Mesh,
  MeshPhysicalMaterial,
  RGBAFormat,
  SRGBColorSpace,
  Box3,
  Vector3,
  type Face,
} from 'three';
import type { SoftFrame, SoftInfo } from '../link/messages';
import { colorTable, divergingColor, kTableSize, sequentialColor } from './colormap';
import type { Range } from './range';

export class SoftBody {
  readonly mesh: Mesh<BufferGeometry, MeshPhysicalMaterial>;
  latest: SoftFrame | null = null;
  readonly bounds = new Box3();
  private readonly table: DataTexture;
  private diverging = false;

  constructor(
    readonly info: SoftInfo,
    plain: boolean,
  ) {
    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(info.indices, 1));
    this.table = new DataTexture(colorTable(sequentialColor), kTableSize, 1, RGBAFormat);
    this.table.colorSpace = SRGBColorSpace;
    this.table.minFilter = this.table.magFilter = LinearFilter;
    this.table.needsUpdate = true;
    const material = new MeshPhysicalMaterial({
      map: this.table,
      roughness: 0.46,
      clearcoat: plain ? 0 : 0.25,
      clearcoatRoughness: 0.4,
      envMapIntensity: 0.9,
    });
    this.mesh = new Mesh(geometry, material);
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    this.mesh.visible = false;
    this.mesh.name = info.name;
  }

  // The corner of a face nearest to a point: its vertex in the volume mesh, and where it is at any time.
  grab(face: Face, point: Vector3): { vertex: number; place(): Vector3 } {
    const at = (corner: number) => new Vector3().fromBufferAttribute(this.mesh.geometry.getAttribute('position'), corner);
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
    this.mesh.visible = true;
    return before ? [before.positions.buffer, before.normals.buffer, before.field.buffer] as ArrayBuffer[] : [];
  }

  // Maps the texture coordinate, which runs from fieldMin to fieldMax, onto the displayed range by the texture's transform.
  setRange({ low, high }: Range, diverging: boolean): void {
    if (!this.latest) return;
    const width = Math.max(high - low, 1e-30);
    this.table.repeat.set((this.latest.fieldMax - this.latest.fieldMin) / width, 1);
    this.table.offset.set((this.latest.fieldMin - low) / width, 0);
    if (diverging === this.diverging) return;
    this.diverging = diverging;
    this.table.image.data = colorTable(diverging ? divergingColor : sequentialColor);
    this.table.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.table.dispose();
  }

  // Reuses the attribute of this name, and with it its GPU buffer, while the size stays the same.
  private setAttribute(name: string, array: Float32Array | Uint16Array, size: number, normalized: boolean): void {
    const { geometry } = this.mesh;
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
