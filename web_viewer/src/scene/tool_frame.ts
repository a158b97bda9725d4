// Axes of the driven link: red, green and blue along its x, y and z, drawn on top of everything.
import { CylinderGeometry, Group, Mesh, MeshBasicMaterial, type Object3D } from 'three';

const kColors = ['#e5484d', '#30a46c', '#3d7eff'];

export class ToolFrame {
  private readonly group = new Group();

  constructor() {
    kColors.forEach((color, axis) => {
      const shaft = new CylinderGeometry(0.028, 0.028, 1, 10).translate(0, 0.5, 0);
      const material = new MeshBasicMaterial({ color, depthTest: false, transparent: true, opacity: 0.75 });
      const mesh = new Mesh(shaft, material);
      if (axis === 0) mesh.rotation.z = -Math.PI / 2;
      if (axis === 2) mesh.rotation.x = Math.PI / 2;
      mesh.renderOrder = 10;
      mesh.raycast = () => {}; // not pickable
      this.group.add(mesh);
    });
  }

  // Shows the axes on `body` with length `size` [m]; null hides them.
  show(body: Object3D | null, size: number): void {
    this.group.removeFromParent();
    this.group.scale.setScalar(size);
    body?.add(this.group);
  }
}
