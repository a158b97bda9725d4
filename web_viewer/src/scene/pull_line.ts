// The spring by which the pointer pulls a body: a line from the grabbed point to the pointer, with a ball at each end.
import { BufferAttribute, BufferGeometry, Group, Line, LineBasicMaterial, Mesh, MeshBasicMaterial, SphereGeometry, type Vector3 } from 'three';

const kColor = '#f76b15';

export class PullLine {
  readonly group = new Group();
  private readonly positions = new BufferAttribute(new Float32Array(6), 3);
  private readonly ends: Mesh[];

  constructor() {
    const geometry = new BufferGeometry().setAttribute('position', this.positions);
    const line = new Line(geometry, new LineBasicMaterial({ color: kColor, depthTest: false, transparent: true }));
    const material = new MeshBasicMaterial({ color: kColor, depthTest: false, transparent: true });
    const ball = new SphereGeometry(1, 16, 12);
    this.ends = [new Mesh(ball, material), new Mesh(ball, material)];
    for (const object of [line, ...this.ends]) {
      object.frustumCulled = false;
      object.renderOrder = 11;
      object.raycast = () => {}; // not pickable
      this.group.add(object);
    }
    this.group.visible = false;
  }

  // `size`: radius of the balls [m]
  show(from: Vector3, to: Vector3, size: number): void {
    [from, to].forEach((end, i) => {
      this.positions.setXYZ(i, end.x, end.y, end.z);
      this.ends[i].position.copy(end);
      this.ends[i].scale.setScalar(size);
    });
    this.positions.needsUpdate = true;
    this.group.visible = true;
  }

  hide(): void {
    this.group.visible = false;
  }
}
