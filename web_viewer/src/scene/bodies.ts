// Bodies of a world in the scene: built from the description, moved by frames, picked by the pointer.
import {
  Box3,
  Group,
  Mesh,
  Plane,
  Quaternion,
  Vector3,
  type BufferGeometry,
  type MeshPhysicalMaterial,
  Raycaster,
  type Object3D,
} from 'three';
import { mergeGeometries } from 'three/addons/utils/BufferGeometryUtils.js';
import type { ContactInfo, FrameInfo, BodyMotion, RigidInfo, Vec3, WorldInfo } from '../link/messages';
import type { Hit } from '../drive/pull';
import { ForceArrows } from './arrows';
import { makeFloor } from './floor';
import { Materials } from './materials';
import { ParticleSurface } from './points/particle_surface';
import { PointBody } from './points/point_body';
import { isDiverging, roundUp, type AutoRange } from './range';
import { interestingBox, shapeGeometry, withGround } from './shapes';
import { SoftBody } from './soft';
import { ToolFrame } from './tool_frame';

const kMaxBodiesForRays = 400; // with more bodies, the visibility test takes too long
const kMaxRays = 40; // rays per visibility test

export interface RigidBody {
  info: RigidInfo;
  group: Group;
  placed: boolean; // a pose has been received
}

// A picked particle.
export interface ParticleInfo {
  body: string;
  number: number; // in its body
  position: Vec3; // world frame [m]
  value: number; // of the field `measure`
  measure: number;
  unit: string;
}

export class Bodies {
  readonly root = new Group();
  readonly arrows = new ForceArrows();
  rigid: RigidBody[] = [];
  soft: SoftBody[] = [];
  points: PointBody[] = [];
  private deformables = new Map<number, SoftBody | PointBody>(); // by index in frames
  private readonly surface: ParticleSurface; // around all particles
  private picked: { body: PointBody; index: number } | null = null;
  private floor: Group | null = null;
  private fitted = false;
  private falls = true; // gravity acts downwards
  private halfSpaces: Group[] = [];
  private size = 0.3; // largest extent of the fitted view [m]
  private readonly materials: Materials;
  private readonly toolFrame = new ToolFrame();

  // `plain`: without expensive shading. `changed`: called when the picture changes without a frame.
  constructor(
    private readonly plain: boolean,
    changed: () => void = () => {},
  ) {
    this.materials = new Materials(plain, changed);
    this.surface = new ParticleSurface(plain ? 0.5 : 1);
    this.root.add(this.arrows.group, this.surface.object);
  }

  // Shows particles as a surface, or as balls.
  showSurface(on: boolean): void {
    this.surface.object.visible = on;
    this.coverPoints();
  }

  private coverPoints(): void {
    for (const body of this.points) body.covered = this.surface.object.visible;
  }

  build(world: WorldInfo): void {
    this.clear();
    this.materials.setImages(world.images);
    this.falls = world.gravity[2] < 0;
    const robots = world.robots.map(({ name }) => name);
    this.rigid = world.rigid.map((info, index) => {
      // links without colours share one colour per robot
      return this.buildRigid(info, info.robot ? robots.indexOf(info.robot) : index);
    });
    this.soft = world.soft.map((info) => new SoftBody(info, this.plain, this.materials));
    this.points = world.points.map((info) => new PointBody(info, this.plain));
    this.surface.setBodies(this.points);
    this.coverPoints();
    this.deformables = new Map(this.coloured.map((body) => [body.info.body, body]));
    for (const body of this.rigid) this.root.add(body.group);
    for (const { object } of this.coloured) this.root.add(object);
  }

  // Applies a frame. Returns the buffers that are free again and, once when all bodies are placed, the box for the camera to
  // fit.
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
      const soft = this.deformables.get(body.body);
      if (soft instanceof SoftBody) buffers.push(...soft.update(body));
    }
    for (const body of frame.points) {
      const points = this.deformables.get(body.body);
      if (points instanceof PointBody) buffers.push(...points.update(body));
    }
    return { buffers, fit: this.fitted ? null : this.measure() };
  }

  showContacts(contacts: ContactInfo[]): void {
    const passive = new Set(this.rigid.filter(({ info }) => info.motion !== 'FREE').map(({ info }) => info.name));
    this.arrows.update(contacts, (body) => passive.has(body), 0.16 * this.size);
  }

  // The bodies that show a field.
  get coloured(): (SoftBody | PointBody)[] {
    return [...this.soft, ...this.points];
  }

  // Numbers of decoded textures, and of those that could not be decoded.
  get textures(): { loaded: number; failed: number } {
    return this.materials.textures;
  }

  // Shows soft bodies in the colours of a field, or in their own.
  showFields(on: boolean): void {
    for (const body of this.soft) body.showField(on);
  }

  colour(range: AutoRange): void {
    const diverging = isDiverging(range.measure);
    for (const body of this.coloured) body.setRange(range.range, diverging);
    this.surface.setDiverging(diverging);
  }

  // Marks the picked particle, if there is one.
  mark(hit: Hit | null): void {
    this.picked?.body.mark(null);
    const body = this.points.find(({ info }) => info.name === hit?.name);
    this.picked = body && hit?.particle != null ? { body, index: hit.particle } : null;
    this.picked?.body.mark(this.picked.index);
  }

  // State of the marked particle in the latest frame.
  get particle(): ParticleInfo | null {
    if (!this.picked?.body.latest) return null;
    const { body, index } = this.picked;
    const { measure, unit } = body.latest!;
    return {
      body: body.info.name,
      number: body.numberOf(index),
      position: body.place(index).toArray(),
      value: body.valueAt(index),
      measure,
      unit,
    };
  }

  position(name: string): Vector3 | null {
    const rigid = this.rigid.find(({ info }) => info.name === name);
    if (rigid) return rigid.group.position;
    const body = this.coloured.find(({ info }) => info.name === name);
    return body?.latest ? new Vector3(...body.latest.centroid) : null;
  }

  motion(name: string): BodyMotion | 'SOFT' | null {
    if (this.coloured.some(({ info }) => info.name === name)) return 'SOFT';
    return this.rigid.find(({ info }) => info.name === name)?.info.motion ?? null;
  }

  // Size of the scene [m], to scale markers.
  get extent(): number {
    return this.size;
  }

  pick(ray: Raycaster): Hit | null {
    for (const { object } of this.soft) object.geometry.boundingSphere = null;
    const objects: Object3D[] = [...this.rigid.map(({ group }) => group), ...this.coloured.map(({ object }) => object)];
    const hit = ray.intersectObjects(objects.filter((object) => object.visible), true)[0];
    if (!hit) return null;
    const name = hit.object.userData.body ?? hit.object.name;
    const at = { name, point: hit.point, local: null, particle: null };
    const soft = this.soft.find(({ object }) => object === hit.object);
    if (soft && hit.face) return { ...at, ...soft.grab(hit.face, hit.point) };
    const points = this.points.find(({ object }) => object === hit.object);
    if (points && hit.index !== undefined) {
      const { index } = hit;
      return { ...at, particle: index, vertex: points.numberOf(index), place: () => points.place(index) };
    }
    const group = this.rigid.find(({ info }) => info.name === name)?.group ?? hit.object;
    const local = group.worldToLocal(hit.point.clone());
    return { ...at, local: local.toArray(), vertex: null, place: () => group.localToWorld(local.clone()) };
  }

  // Returns the fraction of links and soft bodies whose centre is hidden from `eye`, 0 … 1; 0 in a scene without robots.
  hidden(eye: Vector3): number {
    const links = this.rigid.filter(({ info, group }) => info.robot && group.children.some((child) => child instanceof Mesh));
    const things: Object3D[] = [...links.map(({ group }) => group), ...this.coloured.map(({ object }) => object)];
    if (links.length === 0 || this.rigid.length > kMaxBodiesForRays) return 0;
    for (const { object } of this.soft) object.geometry.boundingSphere = null;
    const every = Math.ceil(things.length / kMaxRays);
    const chosen = things.filter((_, i) => i % every === 0);
    const solids: Object3D[] = [...this.rigid.map(({ group }) => group), ...this.soft.map(({ object }) => object)];
    const owner = (name: string) => this.rigid.find(({ info }) => info.name === name)?.info.robot || name;
    const ray = new Raycaster();
    const isHidden = (thing: Object3D) => {
      const towards = new Box3().setFromObject(thing).getCenter(new Vector3()).sub(eye);
      ray.set(eye, towards.clone().normalize());
      ray.far = towards.length();
      const hit = ray.intersectObjects(solids, true).find(({ object }) => object instanceof Mesh);
      // a robot does not hide itself
      return hit !== undefined && owner(hit.object.userData.body ?? hit.object.name) !== owner(thing.name);
    };
    return chosen.filter(isHidden).length / chosen.length;
  }

  // Marks the driven body: a kinematic body glows, the link of a robot shows its axes.
  markDriven(name: string): void {
    for (const { info, group } of this.rigid) {
      group.traverse((object) => {
        if (!(object instanceof Mesh) || info.motion !== 'KINEMATIC') return;
        (object.material as MeshPhysicalMaterial).emissiveIntensity = info.name === name ? 0.12 : 0;
      });
    }
    const link = this.rigid.find(({ info }) => info.name === name && info.robot !== '');
    this.toolFrame.show(link?.group ?? null, 0.1);
  }

  // Builds one mesh per material, for any number of shapes.
  private buildRigid(info: RigidInfo, index: number): RigidBody {
    const group = new Group();
    group.visible = false;
    group.name = info.name;
    const parts = new Map<MeshPhysicalMaterial, BufferGeometry[]>();
    info.shapes.forEach((shape, i) => {
      const geometry = shapeGeometry(shape.geometry, info.robot ? 0.6 : 1);
      const [w, x, y, z] = shape.quaternion;
      if (!geometry) {
        const place = new Group(); // the floor is added when the size of the scene is known
        place.position.set(...shape.position);
        place.quaternion.set(x, y, z, w);
        group.add(place);
        this.halfSpaces.push(place);
        return;
      }
      geometry.applyQuaternion(new Quaternion(x, y, z, w)).translate(...shape.position);
      const color = info.colors[i];
      const appearance = shape.geometry.type === 'triangles' ? shape.geometry.appearance : null;
      const material = color
        ? this.materials.ofColor(color, appearance?.image, Boolean(appearance?.colors))
        : this.materials.ofMotion(info.motion, index);
      parts.set(material, [...(parts.get(material) ?? []), geometry]);
    });
    for (const [material, geometries] of parts) {
      const mesh = new Mesh(geometries.length > 1 ? mergeGeometries(geometries) : geometries[0], material);
      if (geometries.length > 1) for (const geometry of geometries) geometry.dispose();
      mesh.castShadow = mesh.receiveShadow = true;
      mesh.userData.body = info.name;
      group.add(mesh);
    }
    return { info, group, placed: false };
  }

  // Returns the box of the world as it is now for the camera to fit, or null until all bodies are placed.
  measure(): Box3 | null {
    const bodies = [...this.rigid.map(({ placed }) => placed), ...this.coloured.map(({ latest }) => latest !== null)];
    if (!bodies.every(Boolean)) return null;
    const moving: Box3[] = this.coloured.map(({ bounds }) => bounds);
    const falling: Box3[] = [...moving];
    const fixed: Box3[] = [];
    const robots = new Map<string, Box3>(); // each robot counts as one object, however many small links it has
    for (const { info, group } of this.rigid) {
      const solid = group.children.filter((child) => child instanceof Mesh);
      group.updateMatrixWorld(true);
      for (const child of solid) {
        const box = new Box3().setFromObject(child);
        if (info.robot) robots.set(info.robot, box.union(robots.get(info.robot) ?? box));
        else (info.motion === 'FIXED' ? fixed : moving).push(box);
        if (!info.robot && info.motion === 'FREE') falling.push(box);
      }
    }
    const seen = interestingBox(moving, fixed, [...robots.values()]);
    const box = this.falls ? withGround(seen, falling, this.planes(), fixed) : seen;
    const extent = box.getSize(new Vector3());
    this.size = Math.max(extent.x, extent.y, extent.z);
    this.fitted = true;
    this.layFloor([...moving, ...robots.values(), ...fixed], box);
    return box;
  }

  // The surfaces of half-spaces.
  private planes(): Plane[] {
    return this.halfSpaces.map((place) => {
      place.updateWorldMatrix(true, false);
      return new Plane(new Vector3(0, 0, 1), 0).applyMatrix4(place.matrixWorld);
    });
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
    for (const body of this.coloured) {
      body.object.removeFromParent();
      body.dispose();
    }
    this.mark(null);
    this.toolFrame.show(null, 1);
    this.materials.dispose();
    this.floor?.removeFromParent();
    this.floor = null;
    this.halfSpaces = [];
    this.fitted = false;
    this.showContacts([]);
  }
}
