// Rigid shapes as three.js geometries, and the box that the camera fits.
import {
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  Plane,
  SphereGeometry,
  Box3,
  Vector3,
} from 'three';
import { RoundedBoxGeometry } from 'three/addons/geometries/RoundedBoxGeometry.js';
import type { GeometryInfo, VertexAppearance } from '../link/messages';

const kMaxFall = 20; // height above the ground, relative to the extent of the box, up to which the ground is framed

// Returns indexed triangles with normals and, if there are any, texture coordinates and vertex colours, so that all geometries
// of a material can be merged; null for a half-space, which is drawn as a floor. `detail`: tessellation relative to full detail.
export function shapeGeometry(shape: GeometryInfo, detail = 1): BufferGeometry | null {
  const geometry = makeGeometry(shape, (count) => Math.max(4, 2 * Math.round(0.5 * detail * count)));
  if (!geometry) return null;
  geometry.deleteAttribute('uv');
  if (!geometry.index) geometry.setIndex([...Array(geometry.getAttribute('position').count).keys()]);
  geometry.clearGroups();
  return geometry;
}

function makeGeometry(shape: GeometryInfo, parts: (count: number) => number): BufferGeometry | null {
  switch (shape.type) {
    case 'box': {
      // round the edges a little so that they catch the light, by at most 2.5 mm
      const [x, y, z] = shape.size;
      return new RoundedBoxGeometry(x, y, z, 3, Math.min(0.0025, 0.12 * Math.min(x, y, z)));
    }
    case 'sphere':
      return new SphereGeometry(shape.radius, parts(48), parts(32));
    case 'capsule':
      return new CapsuleGeometry(shape.radius, shape.length, parts(12), parts(40)).rotateX(Math.PI / 2);
    case 'cylinder':
      return new CylinderGeometry(shape.radius, shape.radius, shape.length, parts(56)).rotateX(Math.PI / 2);
    case 'ellipsoid':
      return new SphereGeometry(1, parts(48), parts(32)).scale(...shape.radii);
    case 'triangles': {
      const geometry = new BufferGeometry();
      geometry.setAttribute('position', new BufferAttribute(shape.positions, 3));
      geometry.setAttribute('normal', new BufferAttribute(shape.normals, 3));
      geometry.setIndex(new BufferAttribute(shape.indices, 1));
      addAppearance(geometry, shape.appearance);
      return geometry;
    }
    case 'halfSpace':
      return null;
  }
}

// Adds texture coordinates and vertex colours.
export function addAppearance(
  geometry: BufferGeometry,
  appearance: Pick<VertexAppearance, 'coordinates' | 'colors'> | null,
): void {
  if (appearance?.coordinates) geometry.setAttribute('uv1', new BufferAttribute(appearance.coordinates, 2));
  if (appearance?.colors) geometry.setAttribute('color', new BufferAttribute(appearance.colors, 3));
}

// Returns the box that the camera should fit: robots, all other moving boxes except far outliers, and the part of fixed boxes
// near these, within a fraction of their extent.
export function interestingBox(moving: Box3[], fixed: Box3[], robots: Box3[] = []): Box3 {
  // a robot is large compared with the objects around it, so take in less of the fixed bodies
  const near = robots.length > 0 ? 0.1 : 0.35;
  const box = new Box3();
  for (const each of [...robots, ...withoutStrays(moving)]) box.union(each);
  if (box.isEmpty()) {
    for (const each of fixed) box.union(each);
    return box.isEmpty() ? new Box3(new Vector3(-0.2, -0.2, 0), new Vector3(0.2, 0.2, 0.2)) : box;
  }
  const size = box.getSize(new Vector3());
  const reach = box.clone().expandByScalar(near * Math.max(size.x, size.y, size.z));
  for (const each of fixed) {
    const part = each.clone().intersect(reach);
    if (!part.isEmpty()) box.union(part);
  }
  return box;
}

// Extends the framed box down to the ground below the bodies that will fall, so that they do not fall out of the picture.
// Ground very far below the box is left out, because the bodies would be too small to see.
// `falling`: bodies that move freely; those outside of the box are ignored. `planes`: surfaces of half-spaces. `fixed`: boxes
// whose tops are ground, too.
export function withGround(box: Box3, falling: Box3[], planes: Plane[], fixed: Box3[]): Box3 {
  const size = box.getSize(new Vector3());
  const lowest = box.min.z - kMaxFall * Math.max(size.x, size.y, size.z);
  const framed = box.clone();
  for (const body of falling) {
    if (!box.containsBox(body)) continue;
    const ground = groundBelow(body, planes, fixed);
    if (ground >= lowest) framed.min.z = Math.min(framed.min.z, ground);
  }
  return framed;
}

// Height of the highest ground below the centre of a body; -Infinity: there is none.
function groundBelow(body: Box3, planes: Plane[], fixed: Box3[]): number {
  const centre = body.getCenter(new Vector3());
  const under = planes
    .filter(({ normal }) => normal.z > 1e-3)
    .map(({ normal, constant }) => -(normal.x * centre.x + normal.y * centre.y + constant) / normal.z);
  const tops = fixed
    .filter(({ min, max }) => min.x <= centre.x && centre.x <= max.x && min.y <= centre.y && centre.y <= max.y)
    .map(({ max }) => max.z);
  return Math.max(-Infinity, ...[...under, ...tops].filter((height) => height <= centre.z));
}

// Drops boxes that are much further from the median centre than half of the boxes are.
function withoutStrays(boxes: Box3[]): Box3[] {
  if (boxes.length < 3) return boxes;
  const centres = boxes.map((box) => box.getCenter(new Vector3()));
  const middle = new Vector3(
    median(centres.map(({ x }) => x)),
    median(centres.map(({ y }) => y)),
    median(centres.map(({ z }) => z)),
  );
  const distances = centres.map((centre) => centre.distanceTo(middle));
  const size = median(boxes.map((box) => box.getSize(new Vector3()).length()));
  const limit = 4 * Math.max(median(distances), size);
  return boxes.filter((_, i) => distances[i] <= limit);
}

function median(numbers: number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
