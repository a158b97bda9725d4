// Materials of bodies: their own colours and textures, or colours by kind of motion.
import { Color, DoubleSide, FrontSide, MeshPhysicalMaterial, RepeatWrapping, SRGBColorSpace, Texture } from 'three';
import type { Color as Rgba, BodyMotion, ImageInfo } from '../link/messages';

const kMaxSide = 4096; // of textures; larger ones are scaled down [px]
const kMaxPlainSide = 1024; // the same, without expensive shading

const kFree = ['#4c7bd9', '#2fa58a', '#9a6bd0', '#d0a13a', '#5a8f3c', '#c45a8a'];

export class Materials {
  readonly textures = { loaded: 0, failed: 0 };
  private readonly made = new Map<string, MeshPhysicalMaterial>();
  private images = new Map<string, ImageInfo>(); // by hash
  private readonly shown = new Map<string, Promise<Texture | null>>(); // likewise

  // `plain`: without expensive shading. `changed`: called when a texture has loaded.
  constructor(
    private readonly plain: boolean,
    private readonly changed: () => void = () => {},
  ) {}

  // Sets the images of the world that is shown from now on.
  setImages(images: Map<string, ImageInfo>): void {
    this.images = images;
  }

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

  // Material with a colour, which is multiplied by vertex colours and a texture, if there are any. Meshes have the coordinates
  // of the texture in `uv1`.
  ofColor([r, g, b, a]: Rgba, image = '', hasColors = false): MeshPhysicalMaterial {
    return this.keep(`rgba ${r} ${g} ${b} ${a} ${image} ${hasColors}`, () => {
      const material = this.coated(new Color().setRGB(r, g, b, SRGBColorSpace));
      material.vertexColors = hasColors;
      if (image) void this.addTexture(material, image);
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
    for (const shown of this.shown.values()) void shown.then(disposeTexture);
    this.shown.clear();
    this.textures.loaded = this.textures.failed = 0;
  }

  private async addTexture(material: MeshPhysicalMaterial, image: string): Promise<void> {
    const shown = this.shown.get(image) ?? this.load(image);
    this.shown.set(image, shown);
    const texture = await shown;
    if (this.shown.get(image) !== shown) return; // the texture of an earlier world
    ++this.textures[texture ? 'loaded' : 'failed'];
    material.map = texture;
    material.needsUpdate = true;
    this.changed();
  }

  // Lets the browser decode an image; null if it cannot.
  private async load(image: string): Promise<Texture | null> {
    const info = this.images.get(image);
    if (!info) return null;
    const { bytes, mediaType, width, height } = info;
    const reduction = Math.min(1, (this.plain ? kMaxPlainSide : kMaxSide) / Math.max(width, height));
    const smaller = { resizeWidth: Math.max(1, Math.round(reduction * width)), resizeHeight: Math.max(1, Math.round(reduction * height)) };
    try {
      const bitmap = await createImageBitmap(new Blob([bytes as BlobPart], { type: mediaType }), {
        imageOrientation: 'flipY', // the origin of coordinates is the lower left corner
        premultiplyAlpha: 'none',
        ...(reduction < 1 ? smaller : {}),
      });
      const texture = new Texture(bitmap);
      texture.flipY = false;
      texture.channel = 1;
      texture.colorSpace = SRGBColorSpace;
      texture.wrapS = texture.wrapT = RepeatWrapping;
      texture.anisotropy = this.plain ? 1 : 8;
      texture.needsUpdate = true;
      return texture;
    } catch (error) {
      console.warn(`A texture of ${width} x ${height} pixels cannot be decoded: ${(error as Error).message}`);
      return null;
    }
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

function disposeTexture(texture: Texture | null): void {
  (texture?.image as ImageBitmap | undefined)?.close();
  texture?.dispose();
}
