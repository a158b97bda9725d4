// Pulling a body by the pointer: a spring between the grabbed point and the pointer, which moves in the vertical plane through
// that point that faces the camera, or in the horizontal one with Shift.
import type { Camera, Raycaster, Vector3 } from 'three';
import type { Motion, Vec3 } from '../link/messages';
import { Drag } from './drag';

// A point of a body under the pointer.
export interface Hit {
  name: string; // of the body
  point: Vector3; // world frame
  local: Vec3 | null; // in the frame of a rigid body
  vertex: number | null; // nearest vertex of a soft body, in its volume mesh, or number of a particle
  particle: number | null; // index of a particle among those that are drawn
  place(): Vector3; // present position of the point, the vertex or the particle
}

export class Pull {
  private readonly drag = new Drag();

  constructor(
    readonly hit: Hit,
    camera: Camera,
  ) {
    this.drag.begin(hit.point, hit.point, camera, true);
  }

  move(ray: Raycaster, camera: Camera, flat: boolean): void {
    this.drag.move(ray, camera, !flat);
  }

  get anchor(): Vector3 {
    return this.drag.handPoint;
  }

  // `robot`: robot of which the body is a link; empty: none.
  motion(robot: string): Motion {
    const { name, local, vertex } = this.hit;
    return {
      kind: 'spring',
      link: robot ? name.slice(robot.length + 1) : '',
      point: local,
      vertex,
      anchor: [this.anchor.x, this.anchor.y, this.anchor.z],
    };
  }}
