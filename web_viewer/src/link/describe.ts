// The static description of a world, from the wire to what the page builds its scene from.
import { RigidBody_Motion } from '../gen/pliant/v1/scene_pb';
import type { ShapeDescription, WorldDescription } from '../gen/pliant/v1/world_pb';
import { softSurface, type SoftSurface } from './decode';
import type { GeometryInfo, Motion, ShapeInfo, Vec3, WorldInfo } from './messages';
import { splitCreases, vertexNormals } from './surface';

export function describeWorld(
  description: WorldDescription,
  serverVersion: string,
): { world: WorldInfo; surfaces: SoftSurface[] } {
  const surfaces = description.deformables.map((body) =>
    softSurface(body.surface?.vertices ?? [], body.surface?.indices ?? []),
  );
  const world: WorldInfo = {
    name: description.name,
    sceneName: description.sceneName,
    serverVersion,
    modelHash: description.modelHash,
    timeStep: description.timeStep,
    gravity: vec3(description.gravity, [0, 0, -9.81]),
    rigid: description.rigidBodies.map((body) => ({
      name: body.name,
      motion: motionName(body.motion),
      shapes: body.shapes.flatMap((shape) => shapeInfo(shape) ?? []),
    })),
    soft: description.deformables.map((body, i) => ({
      name: body.name,
      vertices: body.vertices,
      tetrahedra: body.tetrahedra,
      youngsModulus: body.youngsModulus,
      surfaceVertices: surfaces[i].surfaceVertices,
      renderVertices: surfaces[i].source.length,
      indices: surfaces[i].indices,
    })),
  };
  return { world, surfaces };
}

function motionName(motion: RigidBody_Motion): Motion {
  if (motion === RigidBody_Motion.KINEMATIC) return 'KINEMATIC';
  return motion === RigidBody_Motion.FREE ? 'FREE' : 'FIXED';
}

function shapeInfo(shape: ShapeDescription): ShapeInfo | null {
  const geometry = geometryInfo(shape);
  if (!geometry) return null;
  const [x = 0, y = 0, z = 0, w = 1, i = 0, j = 0, k = 0] = shape.pose;
  return { position: [x, y, z], quaternion: [w, i, j, k], geometry };
}

function geometryInfo({ geometry }: ShapeDescription): GeometryInfo | null {
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
      const { source, indices } = splitCreases(geometry.value.vertices, geometry.value.indices);
      const positions = new Float32Array(source.length * 3);
      source.forEach((from, to) => {
        for (let k = 0; k < 3; ++k) positions[to * 3 + k] = geometry.value.vertices[from * 3 + k];
      });
      const normals = new Float32Array(positions.length);
      vertexNormals(positions, indices, normals);
      return { type: 'triangles', positions, normals, indices };
    }
    default:
      return null; // a shape of a later version: the rest is still shown
  }
}

function vec3(numbers: number[], otherwise: Vec3): Vec3 {
  return numbers.length === 3 ? [numbers[0], numbers[1], numbers[2]] : otherwise;
}
