// Decodes the static description of a world into the data from which the page builds its scene.
import { RigidBody_Motion } from '../gen/pliant/v1/scene_pb';
import { Tier } from '../gen/pliant/v1/stream_pb';
import {
  ControllerDescription_Kind,
  JointDescription_Drive,
  type DeformableDescription,
  type JointDescription,
  type RigidDescription,
  type ShapeDescription,
  type WorldDescription,
} from '../gen/pliant/v1/world_pb';
import { softSurface, type DrawnBody, type SoftSurface } from './decode';
import type {
  BodyMotion,
  Color,
  GeometryInfo,
  ImageInfo,
  JointInfo,
  PointsInfo,
  RigidInfo,
  RobotInfo,
  ShapeInfo,
  SoftAppearance,
  SoftInfo,
  Vec3,
  WorldInfo,
} from './messages';
import { embeddedSurface, vertexAppearance } from './appearance';
import { largest } from './points';
import { gather, splitSeams, vertexNormals } from './surface';

// With more surface vertices or points than this in total, soft bodies are shown decimated, because a page cannot draw more
// smoothly.
const kMaxFullVertices = 50_000;
const kMaxFullPoints = 250_000;

export function describeWorld(
  description: WorldDescription,
  serverVersion: string,
  watchesOnly = false,
  images = new Map<string, ImageInfo>(),
): { world: WorldInfo; drawn: DrawnBody[]; names: string[]; tier: Tier } {
  const { rigidBodies, deformables } = description;
  const vertices = deformables.reduce((sum, { surface }) => sum + (surface?.vertices.length ?? 0) / 3, 0);
  const allPoints = deformables.reduce((sum, { points }) => sum + (points?.count ?? 0), 0);
  const tier = vertices > kMaxFullVertices || allPoints > kMaxFullPoints ? Tier.DECIMATED : Tier.UNSPECIFIED;
  const drawn: DrawnBody[] = [];
  const soft: SoftInfo[] = [];
  const points: PointsInfo[] = [];
  for (const [index, body] of deformables.entries()) {
    if (body.points) {
      const info = pointsInfo(body, index, tier);
      points.push(info);
      drawn.push({ points: info.radii.length, radius: largest(info.radii) });
    } else {
      const embedded = body.embedded.length > 0 ? embeddedSurface(body.embedded, body.surface?.vertices ?? []) : null;
      const surface = embedded?.surface ?? surfaceOf(body, tier);
      soft.push(softInfo(body, index, tier, surface, embedded?.appearance ?? null));
      drawn.push(surface);
    }
  }
  const robots = describeRobots(description);
  const robotOf = new Map(robots.flatMap(({ name, links }) => links.map((link) => [link, name] as const)));
  const world: WorldInfo = {
    name: description.name,
    sceneName: description.sceneName,
    serverVersion,
    modelHash: description.modelHash,
    timeStep: description.timeStep,
    gravity: vec3(description.gravity, [0, 0, -9.81]),
    rigid: rigidBodies.map((body, i) => rigidInfo(body, robotOf.get(i) ?? '')),
    soft,
    points,
    robots,
    images,
    watchesOnly,
  };
  return { world, drawn, names: [...rigidBodies, ...deformables].map(({ name }) => name), tier };
}

function softInfo(
  body: DeformableDescription,
  index: number,
  tier: Tier,
  surface: SoftSurface,
  appearance: SoftAppearance | null,
): SoftInfo {
  return {
    name: body.name,
    body: index,
    fields: body.fields,
    vertices: body.vertices,
    tetrahedra: body.tetrahedra,
    youngsModulus: body.youngsModulus,
    surfaceVertices: surface.surfaceVertices,
    renderVertices: surface.source.length,
    volumeVertices: volumeVertices(body, tier, surface),
    indices: surface.indices,
    appearance,
  };
}

function pointsInfo(body: DeformableDescription, index: number, tier: Tier): PointsInfo {
  const { count = 0, radii = [] } = body.points ?? {};
  const kept = keptVertices(body, tier);
  const shown = kept?.length ?? count;
  // decimated points are drawn larger, so that they fill the same volume
  const growth = Math.cbrt(count / Math.max(1, shown));
  const radius = (i: number) => (radii[radii.length > 1 ? (kept ? kept[i] : i) : 0] ?? 0) * growth;
  return {
    name: body.name,
    body: index,
    fields: body.fields,
    youngsModulus: body.youngsModulus,
    count,
    numbers: kept && Uint32Array.from(kept),
    radii: Float32Array.from({ length: shown }, (_, i) => radius(i)),
  };
}

// Surface vertices or points in frames of a tier; null: all.
function keptVertices(body: DeformableDescription, tier: Tier): number[] | null {
  return tier === Tier.UNSPECIFIED || body.decimatedVertices.length === 0 ? null : body.decimatedVertices;
}

function volumeVertices(body: DeformableDescription, tier: Tier, { source }: SoftSurface): Uint32Array {
  const kept = keptVertices(body, tier);
  return source.map((vertex) => body.surfaceToVolume[kept ? kept[vertex] : vertex] ?? 0);
}

function surfaceOf(body: DeformableDescription, tier: Tier): SoftSurface {
  const { vertices = [], indices = [] } = body.surface ?? {};
  const kept = keptVertices(body, tier);
  if (!kept) return softSurface(vertices, indices);
  const corners = kept.flatMap((vertex) => vertices.slice(3 * vertex, 3 * vertex + 3));
  return softSurface(corners, body.decimatedTriangles);
}

// Describes the visible shapes of a body: its visuals, or its collision shapes where it has none.
function rigidInfo(body: RigidDescription, robot: string): RigidInfo {
  const seen = (body.visuals.length > 0 ? body.visuals : body.shapes).flatMap((shape) => {
    const info = shapeInfo(shape);
    return info ? [{ info, color: color(shape.color) }] : [];
  });
  return {
    name: body.name,
    motion: motionName(body.motion),
    shapes: seen.map(({ info }) => info),
    colors: seen.map((each) => each.color),
    robot,
  };
}

function describeRobots(description: WorldDescription): RobotInfo[] {
  let next = 0; // frames list the joints robot by robot
  const nameOf = (body: number): string => description.rigidBodies[body]?.name ?? '';
  return description.robots.map((robot) => ({
    name: robot.name,
    links: robot.links,
    joints: robot.joints.map((joint) => jointInfo(joint, next++)),
    tools: robot.controllers
      .filter(({ kind }) => kind === ControllerDescription_Kind.DIFFERENTIAL_IK)
      .map(({ name, body, carried, joints }) => ({ name, body: nameOf(body), carried: carried.map(nameOf), joints })),
    grippers: robot.controllers
      .filter(({ kind }) => kind === ControllerDescription_Kind.GRIPPER)
      .map(({ name, joints }) => ({ name, joints })),
    groups: robot.groups.map(({ name, joints }) => ({ name, joints })),
    hasGamepad: robot.hasGamepad,
  }));
}

function jointInfo(joint: JointDescription, index: number): JointInfo {
  const drives: Partial<Record<JointDescription_Drive, JointInfo['drive']>> = {
    [JointDescription_Drive.TORQUE]: 'torque',
    [JointDescription_Drive.POSITION]: 'position',
    [JointDescription_Drive.VELOCITY]: 'velocity',
    [JointDescription_Drive.ACTIVATION]: 'activation',
  };
  return {
    name: joint.name,
    index,
    slides: joint.isPrismatic,
    lower: joint.lower ?? -Infinity,
    upper: joint.upper ?? Infinity,
    velocityLimit: joint.velocityLimit ?? Infinity,
    effortLimit: joint.effortLimit ?? Infinity,
    drive: drives[joint.drive] ?? 'none',
  };
}

function color(numbers: number[]): Color | null {
  return numbers.length === 4 ? [numbers[0], numbers[1], numbers[2], numbers[3]] : null;
}

function motionName(motion: RigidBody_Motion): BodyMotion {
  if (motion === RigidBody_Motion.KINEMATIC) return 'KINEMATIC';
  return motion === RigidBody_Motion.FREE ? 'FREE' : 'FIXED';
}

function shapeInfo(shape: ShapeDescription): ShapeInfo | null {
  const geometry = geometryInfo(shape);
  if (!geometry) return null;
  const [x = 0, y = 0, z = 0, w = 1, i = 0, j = 0, k = 0] = shape.pose;
  return { position: [x, y, z], quaternion: [w, i, j, k], geometry };
}

function geometryInfo({ geometry, appearance }: ShapeDescription): GeometryInfo | null {
  switch (geometry.case) {
    case 'box':
      return { type: 'box', size: vec3(geometry.value.size, [0, 0, 0]) };
    case 'sphere':
      return { type: 'sphere', radius: geometry.value.radius ?? 0 };
    case 'capsule':
    case 'cylinder':
      return { type: geometry.case, radius: geometry.value.radius ?? 0, length: geometry.value.length ?? 0 };
    case 'ellipsoid':
      return { type: 'ellipsoid', radii: vec3(geometry.value.radii, [0, 0, 0]) };
    case 'halfSpace':
      return { type: 'halfSpace' };
    case 'triangles': {
      const { vertices } = geometry.value;
      const { source, indices, smooth, smoothOf } = splitSeams(vertices, geometry.value.indices);
      const normals = new Float32Array(smooth.source.length * 3);
      vertexNormals(gather(vertices, smooth.source, new Float32Array(normals.length)), smooth.indices, normals);
      return {
        type: 'triangles',
        positions: gather(vertices, source, new Float32Array(source.length * 3)),
        normals: gather(normals, smoothOf, new Float32Array(source.length * 3)),
        indices,
        appearance: vertexAppearance(appearance, source),
      };
    }
    default:
      return null; // unknown shape of a newer server: skip it and show the rest
  }
}

function vec3(numbers: number[], otherwise: Vec3): Vec3 {
  return numbers.length === 3 ? [numbers[0], numbers[1], numbers[2]] : otherwise;
}
