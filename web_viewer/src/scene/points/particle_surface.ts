// Draws particles as a surface, as in screen-space rendering of fluids (van der Laan et al. 2009): their balls are drawn into a
// depth image, which is smoothed over a few radii and then lit. The field is smoothed with it.
import {
  BufferAttribute,
  BufferGeometry,
  FloatType,
  Matrix4,
  Mesh,
  NearestFilter,
  RGFormat,
  Scene,
  ShaderMaterial,
  Vector2,
  WebGLRenderTarget,
  type Camera,
  type PerspectiveCamera,
  type WebGLRenderer,
} from 'three';
import { FullScreenQuad } from 'three/addons/postprocessing/Pass.js';
import { FieldColors } from '../field_colors';
import { kSun, kSunlight, lightUniforms, setUp } from './light';
import type { PointBody } from './point_body';

const kPasses = 2; // of smoothing, each along both axes
const kReach = 3; // of the smoothing, in radii

export class ParticleSurface {
  readonly object: Mesh<BufferGeometry, ShaderMaterial>;
  private readonly scene = new Scene(); // of the depth image
  private readonly colors = new FieldColors();
  private readonly smoothing = new FullScreenQuad(smoothingMaterial());
  private targets: WebGLRenderTarget[] = [];
  private radius = 0.01; // of the largest ball [m]

  // `scale`: resolution of the depth image relative to the page
  constructor(private readonly scale: number) {
    // a triangle that covers the picture
    const geometry = new BufferGeometry();
    geometry.setAttribute('position', new BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3));
    this.object = new Mesh(geometry, surfaceMaterial(this.colors));
    this.object.frustumCulled = false;
    this.object.visible = false;
    this.object.raycast = () => {}; // the balls are picked instead
    this.object.onBeforeRender = (renderer, _scene, camera) => this.prepare(renderer, camera);
  }

  setBodies(bodies: PointBody[]): void {
    this.scene.clear();
    for (const { depths } of bodies) this.scene.add(depths);
    this.radius = Math.max(1e-6, ...bodies.map(({ largest }) => largest));
  }

  setDiverging(diverging: boolean): void {
    this.colors.setRange({ low: 0, high: 1 }, diverging, { fieldMin: 0, fieldMax: 1 });
  }

  private prepare(renderer: WebGLRenderer, camera: Camera): void {
    const whole = renderer.getDrawingBufferSize(new Vector2());
    const size = whole.clone().multiplyScalar(this.scale).ceil();
    if (this.targets.length === 0) this.targets = [0, 1].map(() => makeTarget(size));
    for (const target of this.targets) target.setSize(size.x, size.y);

    const before = renderer.getRenderTarget();
    renderer.setRenderTarget(this.targets[0]);
    renderer.render(this.scene, camera);
    const { uniforms } = this.smoothing.material as ShaderMaterial;
    const lens = (camera as PerspectiveCamera).projectionMatrix;
    uniforms.radius.value = this.radius;
    uniforms.reach.value = 0.5 * kReach * this.radius * lens.elements[5] * size.y;
    for (let pass = 0; pass < 2 * kPasses; ++pass) {
      const [from, to] = pass % 2 === 0 ? this.targets : [this.targets[1], this.targets[0]];
      uniforms.picture.value = from.texture;
      uniforms.along.value.set(1 - (pass % 2), pass % 2);
      renderer.setRenderTarget(to);
      this.smoothing.render(renderer);
    }
    renderer.setRenderTarget(before);

    const { material } = this.object;
    setUp(material, camera);
    material.uniforms.picture.value = this.targets[0].texture;
    material.uniforms.scale.value.copy(size).divide(whole);
    material.uniforms.radius.value = this.radius;
    material.uniforms.pixels.value.copy(whole);
    material.uniforms.lens.value.copy(lens);
    material.uniforms.eye.value.copy(camera.matrixWorld);
    material.uniformsNeedUpdate = true;
  }
}

// Per pixel: depth from the viewer [m] (0: nothing), and coordinate in the colour table.
function makeTarget(size: Vector2): WebGLRenderTarget {
  return new WebGLRenderTarget(size.x, size.y, {
    type: FloatType,
    format: RGFormat,
    minFilter: NearestFilter,
    magFilter: NearestFilter,
  });
}

// Bilateral smoothing along one axis: a weighted mean of nearby pixels of similar depth.
function smoothingMaterial(): ShaderMaterial {
  return new ShaderMaterial({
    depthTest: false,
    depthWrite: false,
    uniforms: {
      picture: { value: null },
      along: { value: new Vector2() },
      radius: { value: 0 },
      reach: { value: 0 }, // at a depth of 1 m [pixels]
    },
    vertexShader: /* glsl */ `
      void main() {
        gl_Position = vec4(position.xy, 0.0, 1.0);
      }`,
    fragmentShader: /* glsl */ `
      uniform sampler2D picture;
      uniform vec2 along;
      uniform float radius, reach;
      const int kTaps = 6; // on either side
      void main() {
        ivec2 at = ivec2(gl_FragCoord.xy);
        vec2 middle = texelFetch(picture, at, 0).xy;
        gl_FragColor = vec4(middle, 0.0, 1.0);
        if (middle.x == 0.0) return;
        float apart = max(1.0, min(reach / middle.x, 30.0) / float(kTaps));
        vec2 sum = middle;
        float weights = 1.0;
        for (int i = 1; i <= kTaps; ++i) {
          float place = float(i) / float(kTaps);
          ivec2 aside = ivec2(along * floor(apart * float(i) + 0.5));
          for (int side = -1; side <= 1; side += 2) {
            vec2 there = texelFetch(picture, at + side * aside, 0).xy;
            float step = (there.x - middle.x) / (2.0 * radius);
            float weight = there.x > 0.0 ? exp(-2.0 * place * place - step * step) : 0.0;
            sum += weight * there;
            weights += weight;
          }
        }
        gl_FragColor.xy = sum / weights;
      }`,
  });
}

function surfaceMaterial(colors: FieldColors): ShaderMaterial {
  const material = new ShaderMaterial({
    lights: true,
    uniforms: lightUniforms(),
    vertexShader: /* glsl */ `
      void main() {
        gl_Position = vec4(position.xy, 0.0, 1.0);
      }`,
    fragmentShader: /* glsl */ `
      ${kSun}
      ${kSunlight}
      uniform sampler2D picture, table;
      uniform vec2 scale, pixels;
      uniform float radius;
      uniform mat4 lens, eye; // of projection; from view space to the world

      float depthAt(ivec2 at) {
        return texelFetch(picture, at, 0).x;
      }
      // Point in view space of a pixel of the picture at a depth.
      vec3 place(ivec2 at, float depth) {
        vec2 ndc = 2.0 * (vec2(at) + 0.5) / (scale * pixels) - 1.0;
        return depth * vec3((ndc + vec2(lens[2][0], lens[2][1])) / vec2(lens[0][0], lens[1][1]), -1.0);
      }
      // Difference along an axis, to the side on which the surface continues.
      vec3 slope(ivec2 at, ivec2 aside, vec3 here, float depth) {
        float ahead = depthAt(at + aside), behind = depthAt(at - aside);
        bool forward = ahead > 0.0 && (behind == 0.0 || abs(ahead - depth) < abs(behind - depth));
        return forward ? place(at + aside, ahead) - here : here - place(at - aside, behind > 0.0 ? behind : depth);
      }

      void main() {
        ivec2 at = ivec2(gl_FragCoord.xy * scale);
        vec2 seen = texelFetch(picture, at, 0).xy;
        if (seen.x == 0.0) discard;
        vec3 here = place(at, seen.x);
        vec3 normal = normalize(cross(slope(at, ivec2(1, 0), here, seen.x), slope(at, ivec2(0, 1), here, seen.x)));
        vec3 toEye = -normalize(here);
        vec3 toSun = directionalLights[0].direction;
        vec3 color = texture2D(table, vec2(seen.y, 0.5)).rgb;
        vec3 raised = (eye * vec4(here + radius * (normal + toSun), 1.0)).xyz; // outside the shadow of its own balls
        vec3 fromSun = directionalLights[0].color * (sunlight(raised) / 3.14159265);
        vec3 light = color * mix(ground, sky, 0.5 + 0.5 * dot(normal, up));
        light += color * fromSun * max(0.0, dot(normal, toSun));
        light += 0.8 * fromSun * pow(max(0.0, dot(normal, normalize(toSun + toEye))), 90.0);
        light += sky * pow(1.0 - max(0.0, dot(normal, toEye)), 4.0);
        gl_FragColor = vec4(light, 1.0);
        gl_FragDepth = 0.5 + 0.5 * (lens[2][2] * -seen.x + lens[3][2]) / seen.x;
        #include <tonemapping_fragment>
        #include <colorspace_fragment>
      }`,
  });
  Object.assign(material.uniforms, {
    picture: { value: null },
    table: { value: colors.table },
    scale: { value: new Vector2(1, 1) },
    pixels: { value: new Vector2(1, 1) },
    radius: { value: 0 },
    lens: { value: new Matrix4() },
    eye: { value: new Matrix4() },
  });
  return material;
}
