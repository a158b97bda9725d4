// The bodies of a world in the scene: built from its description, moved by its frames, picked by the pointer.
import {
  Box3,
  Group,
  Mesh,
  MeshPhysicalMaterial,
  Quaternion,
  Vector3,
  type Material,
  type Object3D,
  type Raycaster,
} from 'three';
import type { ContactInfo, FrameInfo, Motion, RigidInfo, WorldInfo } from '../link/messages';
import { ForceArrows } from './arrows';
import { makeFloor } from './floor';
import { isDiverging, roundUp, type AutoRange } from './range';
import { interestingBox, shapeGeometry } from './shapes';
import { SoftBody } from './soft';

export interface RigidBody {
  info: RigidInfo;
  group: Group;
  placed: boolean; // a pose has come
}

const kFree = ['#4c7bd9', '#2fa58a', '#9a6bd0', '#d0a13a', '#5a8f3c', '#c45a8a'];

export class Bodies {
  readonly root = new Group();
  readonly arrows = new ForceArrows();
  rigid: RigidBody[] = [];
  soft: SoftBody[] = [];
  private floor: Group | null = null;
  private fitted = false;
  private halfSpaces: Group[] = [];
  private size = 0.3; // of what is looked at [m]
  private materials: Material[] = [];
  private selected = '';

  // `plain`: without the costly part of the shading
  constructor(private readonly plain: boolean) {
    this.root.add(this.arrows.group);
  }

  build(world: WorldInfo): void {
    this.clear();
    this.rigid = world.rigid.map((info, index) => this.buildRigid(info, index));
    this.soft = world.soft.map((info) => new SoftBody(info, this.plain));
    for (const body of this.rigid) this.root.add(body.group);
    for (const body of this.soft) this.root.add(body.mesh);
  }

  // Moves everything; returns buffers that are free again, and the box to look at when it is the first frame.
  apply(frame: FrameInfo): { buffers: ArrayBuffer[]; fit: Box3 | null } {
    for (const { body, pose } of frame.rigid) {
      const rigid = this.rigid[body];
      if (!rigid) continue;
      rigid.group.position.set(pose[0], pose[1], pose[2]);
      rigid.group.quaternion.set(pose[4], pose[5], pose[6], pose[3]);
      rigid.group.visible = true;
      rigid.placed = true;
    }
    const buffers: ArrayBuffer[] = [];
    for (const body of frame.soft) {
      const soft = this.soft[body.body];
      if (soft) buffers.push(...soft.update(body));
    }
    return { buffers, fit: this.fitted ? null : this.measure() };
  }

  showContacts(contacts: ContactInfo[]): void {
    const passive = new Set(this.rigid.filter(({ info }) => info.motion !== 'FREE').map(({ info }) => info.name));
    this.arrows.update(contacts, (body) => passive.has(body), 0.16 * this.size);
  }

  colour(range: AutoRange): void {
    for (const body of this.soft) body.setRange(range.range, isDiverging(range.measure));
  }

  position(name: string): Vector3 | null {
    const rigid = this.rigid.find(({ info }) => info.name === name);
    if (rigid) return rigid.group.position;
    const soft = this.soft.find(({ info }) => info.name === name);
    return soft?.latest ? new Vector3(...soft.latest.centroid) : null;
  }

  motion(name: string): Motion | 'SOFT' | null {
    if (this.soft.some(({ info }) => info.name === name)) return 'SOFT';
    return this.rigid.find(({ info }) => info.name === name)?.info.motion ?? null;
  }

  kinematic(): string[] {
    return this.rigid.filter(({ info }) => info.motion === 'KINEMATIC').map(({ info }) => info.name);
  }

  pick(ray: Raycaster): { name: string; point: Vector3 } | null {
    for (const { mesh } of this.soft) mesh.geometry.boundingSphere = null;
    const objects: Object3D[] = [...this.rigid.map(({ group }) => group), ...this.soft.map(({ mesh }) => mesh)];
    const hit = ray.intersectObjects(objects.filter((object) => object.visible), true)[0];
    if (!hit) return null;
    return { name: hit.object.userData.body ?? hit.object.name, point: hit.point };
  }

  select(name: string): void {
    this.selected = name;
    for (const { info, group } of this.rigid) {
      group.traverse((object) => {
        if (!(object instanceof Mesh) || info.motion !== 'KINEMATIC') return;
        (object.material as MeshPhysicalMaterial).emissiveIntensity = info.name === this.selected ? 0.12 : 0;
      });
    }
  }

  private buildRigid(info: RigidInfo, index: number): RigidBody {
    const group = new Group();
    group.visible = false;
    group.name = info.name;
    const material = rigidMaterial(info.motion, index, this.plain);
    this.materials.push(material);
    for (const shape of info.shapes) {
      const geometry = shapeGeometry(shape.geometry);
      const [w, x, y, z] = shape.quaternion;
      if (!geometry) {
        const place = new Group(); // the ground is laid when the size of the scene is known
        place.position.set(...shape.position);
        place.quaternion.set(x, y, z, w);
        group.add(place);
        this.halfSpaces.push(place);
        continue;
      }
      const mesh = new Mesh(geometry, material);
      mesh.position.set(...shape.position);
      mesh.quaternion.copy(new Quaternion(x, y, z, w));
      mesh.castShadow = mesh.receiveShadow = true;
      mesh.userData.body = info.name;
      group.add(mesh);
    }
    return { info, group, placed: false };
  }

  // what there is to see, once everything has its place
  private measure(): Box3 | null {
    const bodies = [...this.rigid.map(({ placed }) => placed), ...this.soft.map(({ latest }) => latest !== null)];
    if (!bodies.every(Boolean)) return null;
    const moving: Box3[] = this.soft.map(({ bounds }) => bounds);
    const fixed: Box3[] = [];
    for (const { info, group } of this.rigid) {
      const solid = group.children.filter((child) => child instanceof Mesh);
      group.updateMatrixWorld(true);
      for (const child of solid) {
        (info.motion === 'FIXED' ? fixed : moving).push(new Box3().setFromObject(child));
      }
    }
    const box = interestingBox(moving, fixed);
    const extent = box.getSize(new Vector3());
    this.size = Math.max(extent.x, extent.y, extent.z);
    this.fitted = true;
    this.layFloor([...moving, ...fixed], box);
    return box;
  }

  private layFloor(all: Box3[], look: Box3): void {
    const cell = roundUp(0.05 * this.size);
    for (const place of this.halfSpaces) place.add(makeFloor(30 * this.size, cell, true));
    if (this.halfSpaces.length > 0) return;
    const lowest = Math.min(...all.map((box) => box.min.z), look.min.z);
    const wide = Math.max(this.size, ...all.map((box) => box.getSize(new Vector3()).length()));
    this.floor = makeFloor(6 * Math.min(wide, 4 * this.size), cell, false);
    const centre = look.getCenter(new Vector3());
    this.floor.position.set(centre.x, centre.y, lowest - 1e-4);
    this.root.add(this.floor);
  }

  private clear(): void {
    for (const { group } of this.rigid) {
      group.traverse((object) => object instanceof Mesh && object.geometry.dispose());
      group.removeFromParent();
    }
    for (const body of this.soft) {
      body.mesh.removeFromParent();
      body.dispose();
    }
    for (const material of this.materials) material.dispose();
    this.floor?.removeFromParent();
    this.floor = null;
    this.materials = [];
    this.halfSpaces = [];
    this.fitted = false;
    this.showContacts([]);
  }
}

function rigidMaterial(motion: Motion, index: number, plain: boolean): MeshPhysicalMaterial {
  if (motion === 'FIXED') return new MeshPhysicalMaterial({ color: '#d3d1cd', roughness: 0.62 });
  const color = motion === 'KINEMATIC' ? '#ff7a3d' : kFree[index % kFree.length];
  return new MeshPhysicalMaterial({
    color,
    roughness: 0.42,
    clearcoat: plain ? 0 : 0.5,
    clearcoatRoughness: 0.25,
    emissive: color,
    emissiveIntensity: 0,
  });
}
