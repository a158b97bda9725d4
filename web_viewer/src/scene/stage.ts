// The stage: renderer, lights and camera, with adaptive resolution. Draws only after invalidate().
import {
  Box3,
  Color,
  DirectionalLight,
  HemisphereLight,
  NeutralToneMapping,
  PCFShadowMap,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { addSurroundings } from './surroundings';
import { chooseTurn } from './viewpoint';

const kUp = new Vector3(0, 0, 1);
const kShadowInterval = 200; // of drawing shadows anew in software [ms]

export class Stage {
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(32, 1, 0.01, 50);
  readonly renderer: WebGLRenderer;
  readonly controls: OrbitControls;
  readonly software: boolean; // software rendering: expensive shading is left out
  private readonly sun = new DirectionalLight('#fff2e2', 2.3);
  private needsDraw = true;
  private needsShadows = true;
  private lastShadows = -Infinity;
  private resized = true; // the drawing buffer does not have its new size yet
  private pixelRatio: number;
  private readonly fixedPixelRatio: number;
  private slow = 0; // consecutive slow frames; negative: fast ones
  private lastDraw = 0;
  // margins of the canvas covered by panels, in CSS pixels; the view is centred in the rest
  private covered = { left: 0, right: 0, bottom: 0 };

  // `quality`: device pixels per CSS pixel; 0: adaptive
  constructor(
    private readonly canvas: HTMLCanvasElement,
    quality: number,
  ) {
    this.software = quality === 0 && rendersInSoftware();
    const antialias = !this.software;
    this.renderer = new WebGLRenderer({ canvas, antialias, alpha: true, powerPreference: 'high-performance' });
    // keep hues, so that colours on a body match the legend
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.toneMappingExposure = 0.98;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.shadowMap.autoUpdate = false;
    this.fixedPixelRatio = quality;
    this.pixelRatio = quality || (this.software ? 0.7 : Math.min(2, window.devicePixelRatio || 1));

    addSurroundings(this.scene, this.renderer, !this.software);

    // a warm key light that casts the shadows, and a cool sky
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.setScalar(this.software ? 768 : 2048);
    this.sun.shadow.radius = this.software ? 2.5 : 6;
    this.sun.shadow.normalBias = 0.0006;
    this.sun.shadow.bias = -0.0003;
    this.scene.add(this.sun, this.sun.target, new HemisphereLight(new Color('#eaf2ff'), new Color('#b9b2a8'), 0.35));

    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = 0.52 * Math.PI;
    this.controls.zoomSpeed = 0.7;
    this.controls.addEventListener('change', () => (this.needsDraw = true)); // the shadows stay
    new ResizeObserver(() => this.markResized()).observe(canvas);
    this.fit(new Box3(new Vector3(-0.2, -0.2, 0), new Vector3(0.2, 0.2, 0.2)));
  }

  invalidate(): void {
    this.needsDraw = true;
    this.needsShadows = true;
  }

  setCovered(left: number, right: number, bottom: number): void {
    this.covered = { left, right, bottom };
    this.markResized();
  }

  // Fits the camera to `box` and lights it. The view is from above the front right, or from a side where less is `hidden`.
  fit(box: Box3, hidden: ((eye: Vector3) => number) | null = null): void {
    const turn = hidden ? chooseTurn((tried) => hidden(this.look(box, tried))) : 0;
    this.look(box, turn);
    this.light(box, turn);
    this.invalidate();
  }

  // Places the camera and returns its position.
  private look(box: Box3, turn: number): Vector3 {
    const centre = box.getCenter(new Vector3());
    const radius = Math.max(0.02, 0.5 * box.getSize(new Vector3()).length());
    const free = this.freeAspect();
    const vertical = (this.camera.fov * Math.PI) / 180;
    const horizontal = 2 * Math.atan(Math.tan(vertical / 2) * Math.min(1, free));
    const distance = (1.12 * radius) / Math.sin(Math.min(vertical, horizontal) / 2);
    const direction = new Vector3(1, -0.62, 0.5).normalize().applyAxisAngle(kUp, turn);
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(direction, distance);
    this.camera.near = distance / 100;
    this.camera.far = distance * 60;
    this.controls.minDistance = 0.2 * radius;
    this.controls.maxDistance = 12 * distance;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    return this.camera.position.clone();
  }

  // Places the key light to the left of the viewer.
  private light(box: Box3, turn: number): void {
    const centre = box.getCenter(new Vector3());
    const radius = Math.max(0.02, 0.5 * box.getSize(new Vector3()).length());
    const reach = 2.2 * radius;
    const from = new Vector3(-0.2, -0.75, 1.25).applyAxisAngle(kUp, turn);
    this.sun.position.copy(centre).addScaledVector(from, 3 * radius);
    this.sun.target.position.copy(centre);
    const eye = this.sun.shadow.camera;
    [eye.left, eye.right, eye.top, eye.bottom, eye.near, eye.far] = [-reach, reach, reach, -reach, 0.1 * radius, 9 * radius];
    eye.updateProjectionMatrix();
  }

  // Horizontal direction of view, from the x axis, seen from above [rad].
  get heading(): number {
    const look = this.controls.target.clone().sub(this.camera.position);
    return Math.atan2(look.y, look.x);
  }

  // Screen position of a point of the world, in CSS pixels of the page.
  screenPosition(point: Vector3): [number, number] {
    const { x, y } = point.clone().project(this.camera);
    const box = this.canvas.getBoundingClientRect();
    return [box.left + ((x + 1) / 2) * box.width, box.top + ((1 - y) / 2) * box.height];
  }

  // Draws if something changed, and returns whether it did. `now`: time of the animation frame [ms].
  draw(now: number): boolean {
    this.controls.update();
    // in software, the shadows of the last change follow when they are due
    const drawsShadows = this.needsShadows && (!this.software || now - this.lastShadows >= kShadowInterval);
    if (!this.needsDraw && !drawsShadows) {
      this.lastDraw = 0;
      return false;
    }
    this.needsDraw = false;
    if (this.resized) this.resize();
    if (drawsShadows) {
      this.renderer.shadowMap.needsUpdate = true;
      this.needsShadows = false;
      this.lastShadows = now;
    }
    this.renderer.render(this.scene, this.camera);
    this.adapt(now);
    return true;
  }

  // Lowers the resolution after slow frames, and raises it again after many fast ones.
  private adapt(now: number): void {
    const elapsed = this.lastDraw ? now - this.lastDraw : 0;
    this.lastDraw = now;
    if (this.fixedPixelRatio || elapsed === 0 || elapsed > 2000) return;
    const most = Math.min(2, window.devicePixelRatio || 1);
    const least = this.software ? 0.35 : 0.5;
    this.slow = elapsed > 34 ? Math.max(1, this.slow + 1) : Math.min(0, this.slow) - (elapsed < 18 ? 1 : 0);
    const lower = elapsed > 68 ? 0.65 : 0.8;
    if (this.slow > 5 && this.pixelRatio > least) this.setPixelRatio(Math.max(least, this.pixelRatio * lower));
    if (this.slow < -240 && this.pixelRatio < most) this.setPixelRatio(Math.min(most, this.pixelRatio * 1.15));
  }

  private setPixelRatio(ratio: number): void {
    this.pixelRatio = ratio;
    this.slow = 0;
    this.markResized();
  }

  private freeAspect(): number {
    const width = Math.max(1, this.canvas.clientWidth - this.covered.left - this.covered.right);
    return width / Math.max(1, this.canvas.clientHeight - this.covered.bottom);
  }

  // Resizing the drawing buffer clears it, so it is resized just before the next drawing.
  private markResized(): void {
    this.resized = true;
    this.invalidate();
  }

  private resize(): void {
    this.resized = false;
    const width = Math.max(1, this.canvas.clientWidth);
    const height = Math.max(1, this.canvas.clientHeight);
    this.renderer.setPixelRatio(this.pixelRatio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;

    // centre the view in the uncovered part
    const { left, right, bottom } = this.covered;
    this.camera.setViewOffset(width, height, (right - left) / 2, bottom / 2, width, height);
    this.camera.updateProjectionMatrix();
  }
}

// Whether WebGL renders in software. Uses a temporary context, because antialiasing is chosen before the real one is created.
function rendersInSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2');
  if (!gl) return false;
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software/i.test(name);
}
