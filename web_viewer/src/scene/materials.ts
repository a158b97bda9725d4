// Materials of rigid bodies: their own colours, or colours by kind of motion.
import { Color, DoubleSide, FrontSide, MeshPhysicalMaterial, SRGBColorSpace } from 'three';
import type { Color as Rgba, BodyMotion } from '../link/messages';

const kFree = ['#4c7bd9', '#2fa58a', '#9a6bd0', '#d0a13a', '#5a8f3c', '#c45a8a'];

export class Materials {
  private readonly made = new Map<string, MeshPhysicalMaterial>();

  // `plain`: without expensive shading
  constructor(private readonly plain: boolean) {}

  // Material of a body without colours. `index` distinguishes bodies.
  ofMotion(motion: BodyMotion, index: number): MeshPhysicalMaterial {
    if (motion === 'FIXED') {
      return this.keep('fixed', () => new MeshPhysicalMaterial({ color: '#d3d1cd', roughness: 0.62 }));
    }
    const color = motion === 'KINEMATIC' ? '#ff7a3d' : kFree[index % kFree.length];
    // a kinematic body glows while it is driven, so each has its own material
    const key = motion === 'KINEMATIC' ? `kinematic ${index}` : color;
    return this.keep(key, () => this.coated(new Color(color)));
  }

  ofColor([r, g, b, a]: Rgba): MeshPhysicalMaterial {
    return this.keep(`rgba ${r} ${g} ${b} ${a}`, () => {
      const material = this.coated(new Color().setRGB(r, g, b, SRGBColorSpace));
      if (a < 1) {
        material.transparent = true;
        material.opacity = Math.max(0.05, a);
        material.depthWrite = a > 0.5;
      }
      material.side = a < 1 ? DoubleSide : FrontSide;
      return material;
    });
  }

  dispose(): void {
    for (const material of this.made.values()) material.dispose();
    this.made.clear();
  }

  private coated(color: Color): MeshPhysicalMaterial {
    return new MeshPhysicalMaterial({
      color,
      roughness: 0.42,
      clearcoat: this.plain ? 0 : 0.5,
      clearcoatRoughness: 0.25,
      emissive: color,
      emissiveIntensity: 0,
    });
  }

  private keep(key: string, make: () => MeshPhysicalMaterial): MeshPhysicalMaterial {
    let material = this.made.get(key);
    if (!material) {
      material = make();
      this.made.set(key, material);
    }
    return material;
  }
}
