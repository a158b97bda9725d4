// Driving by pointer. The grabbed body is dragged in the plane through the grabbed point, which is horizontal, or vertical
// with Shift. The body follows at the driving speed and never jumps.
import { Plane, Vector3, type Camera, type Raycaster } from 'three';
import type { Vec3 } from '../link/messages';

const kFollow = 8; // [1/s] speed per distance
const kArrived = 3e-4; // [m]

export class Drag {
  private readonly plane = new Plane();
  private readonly grabbed = new Vector3(); // the grabbed point
  private readonly from = new Vector3(); // position of the body when it was grabbed
  private readonly hand = new Vector3();
  private upright = false;
  active = false;

  begin(point: Vector3, body: Vector3, camera: Camera, upright: boolean): void {
    this.active = true;
    this.from.copy(body);
    this.grabbed.copy(point);
    this.hand.copy(point);
    this.setPlane(camera, upright);
  }

  move(ray: Raycaster, camera: Camera, upright: boolean): void {
    if (!this.active) return;
    if (upright !== this.upright) this.setPlane(camera, upright);
    ray.ray.intersectPlane(this.plane, this.hand);
  }

  end(): void {
    this.active = false;
  }

  // pointer in the plane, and the position that it implies for the body
  get handPoint(): Vector3 {
    return this.hand;
  }
  get goal(): Vector3 {
    return this.hand.clone().sub(this.grabbed).add(this.from);
  }

  velocity(body: Vector3, speed: number): Vec3 {
    const away = this.goal.sub(body);
    const distance = away.length();
    if (distance < kArrived) return [0, 0, 0];
    const velocity = away.multiplyScalar(Math.min(kFollow * distance, speed) / distance);
    return [velocity.x, velocity.y, velocity.z];
  }

  private setPlane(camera: Camera, upright: boolean): void {
    this.upright = upright;
    const look = camera.getWorldDirection(new Vector3());

    // a horizontal plane seen edge-on barely intersects the pointer ray
    const vertical = upright || Math.abs(look.z) < 0.12;
    const normal = vertical ? new Vector3(look.x, look.y, 0).normalize() : new Vector3(0, 0, 1);
    this.plane.setFromNormalAndCoplanarPoint(normal, this.hand);
  }
}
