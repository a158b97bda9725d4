// Contact forces as arrows, one per contact point, with length proportional to the square root of the force. All are drawn
// with four instanced meshes.
import {
  ConeGeometry,
  CylinderGeometry,
  DynamicDrawUsage,
  GreaterDepth,
  Group,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  MeshStandardMaterial,
  Quaternion,
  Vector3,
} from 'three';
import type { ContactInfo } from '../link/messages';

const kMaxArrows = 512;
const kUp = new Vector3(0, 1, 0);

export class ForceArrows {
  readonly group = new Group();
  private readonly shafts: InstancedMesh;
  private readonly heads: InstancedMesh;
  private readonly veiled: InstancedMesh[] = [];
  private largest = 0; // largest force, decaying slowly so that lengths do not jump
  count = 0;

  constructor() {
    const material = new MeshStandardMaterial({ color: '#e0245e', roughness: 0.35, emissive: '#7a0b30' });
    const veil = new MeshBasicMaterial({
      color: '#ff5c8a',
      transparent: true,
      opacity: 0.4,
      depthFunc: GreaterDepth,
      depthWrite: false,
    });
    this.shafts = new InstancedMesh(new CylinderGeometry(1, 1, 1, 10).translate(0, 0.5, 0), material, kMaxArrows);
    this.heads = new InstancedMesh(new ConeGeometry(1, 1, 16).translate(0, 0.5, 0), material, kMaxArrows);
    for (const mesh of [this.shafts, this.heads]) {
      mesh.instanceMatrix.setUsage(DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.count = 0;
      this.group.add(mesh);

      // draw hidden parts translucently through the body in front
      const hidden = new InstancedMesh(mesh.geometry, veil, kMaxArrows);
      hidden.instanceMatrix = mesh.instanceMatrix;
      hidden.frustumCulled = false;
      hidden.count = 0;
      hidden.renderOrder = 1;
      this.veiled.push(hidden);
      this.group.add(hidden);
    }
  }

  // `passive`: bodies that only react; the arrow shows the force on the other body. `reach`: length of the longest arrow [m].
  update(contacts: ContactInfo[], passive: (body: string) => boolean, reach: number): void {
    const largest = contacts.reduce((most, { force }) => Math.max(most, Math.hypot(...force)), 0);
    this.largest = Math.max(largest, 0.97 * this.largest);
    const place = new Matrix4();
    const turn = new Quaternion();
    const direction = new Vector3();
    const at = new Vector3();
    const scale = new Vector3();
    const thick = 0.016 * reach;
    this.count = 0;
    for (const contact of contacts) {
      direction.fromArray(contact.force);
      const size = direction.length();
      if (!(size > 0.01 * this.largest) || this.count >= kMaxArrows) continue;
      direction.divideScalar(size);
      if (passive(contact.b) && !passive(contact.a)) direction.negate();
      const length = reach * Math.sqrt(size / this.largest);
      const head = Math.min(0.4 * length, 6 * thick);
      turn.setFromUnitVectors(kUp, direction);
      at.fromArray(contact.position);
      place.compose(at, turn, scale.set(thick, length - head, thick));
      this.shafts.setMatrixAt(this.count, place);
      at.addScaledVector(direction, length - head);
      place.compose(at, turn, scale.set(2.4 * thick, head, 2.4 * thick));
      this.heads.setMatrixAt(this.count, place);
      this.count += 1;
    }
    for (const mesh of [this.shafts, this.heads]) {
      mesh.count = this.count;
      mesh.instanceMatrix.needsUpdate = true;
    }
    for (const mesh of this.veiled) mesh.count = this.count;
  }
}
