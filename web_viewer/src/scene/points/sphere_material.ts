// Materials that draw points as lit balls. Each point is a square of pixels, for which the fragment shader computes the ball's
// normal and depth. Colour, shadow and everything else that is constant over a ball is computed once per point, so that many
// small balls are cheap even with software rendering.
import { Color, ShaderMaterial, Vector3, type IUniform, type Texture } from 'three';
import { kSun, kSunlight, lightUniforms } from './light';

// Position and size of a point.
export const kPlace = /* glsl */ `
  uniform vec3 origin, quantum; // position = origin + quantum · attribute
  uniform float pixels;         // height of the picture
  uniform int marked;           // index of the highlighted point; −1: none
  attribute float radius;       // [m]

  vec3 place() {
    return origin + quantum * position;
  }
  float size() {
    return gl_VertexID == marked ? 1.3 * radius : radius;
  }`;

// Position of a pixel on its ball, seen from the viewer: x to the right, y up, in radii.
export const kDisc = /* glsl */ `
  vec2 onDisc() {
    return vec2(2.0, -2.0) * gl_PointCoord + vec2(-1.0, 1.0);
  }`;

export interface SphereUniforms {
  [name: string]: IUniform;
  origin: IUniform<Vector3>;
  quantum: IUniform<Vector3>;
  pixels: IUniform<number>;
  marked: IUniform<number>;
}

// Uniforms that the materials of one body share.
export function sphereUniforms(): SphereUniforms {
  return {
    origin: { value: new Vector3() },
    quantum: { value: new Vector3(1, 1, 1) },
    pixels: { value: 1 },
    marked: { value: -1 },
  };
}

// `plain`: without highlights.
export function sphereMaterial(shared: SphereUniforms, table: Texture, plain: boolean): ShaderMaterial {
  const material = new ShaderMaterial({
    lights: true,
    defines: plain ? { PLAIN: '' } : {},
    uniforms: lightUniforms(),
    vertexShader: /* glsl */ `
      ${kPlace}
      attribute float field; // 0 … 1
      uniform sampler2D table;
      uniform mat3 span; // from the field to the table
      uniform vec3 markColor;
      ${kSun}
      ${kSunlight}
      varying vec3 fromSun, fromSky, fromGround; // light that the ball reflects from each
      varying vec2 depth;                        // depth of its centre, and how much smaller it is at the pole
      varying vec3 toEye;

      void main() {
        vec4 world = modelMatrix * vec4(place(), 1.0);
        vec4 centre = viewMatrix * world;
        vec4 pole = projectionMatrix * (centre + vec4(0.0, 0.0, size(), 0.0));
        gl_Position = projectionMatrix * centre;
        gl_PointSize = pixels * projectionMatrix[1][1] * size() / gl_Position.w;
        float middle = 0.5 * gl_Position.z / gl_Position.w + 0.5;
        depth = vec2(middle, middle - (0.5 * pole.z / pole.w + 0.5));
        toEye = -normalize(centre.xyz);

        vec3 color = texture2D(table, (span * vec3(field, 0.5, 1.0)).xy).rgb;
        if (gl_VertexID == marked) color = markColor;
        // sampled at the pole towards the sun, where the ball does not shade itself
        vec3 toSun = (vec4(directionalLights[0].direction, 0.0) * viewMatrix).xyz;
        fromSun = color * directionalLights[0].color * (sunlight(world.xyz + size() * toSun) / 3.14159265);
        fromSky = color * sky;
        fromGround = color * ground;
      }`,
    fragmentShader: /* glsl */ `
      ${kDisc}
      ${kSun}
      varying vec3 fromSun, fromSky, fromGround;
      varying vec2 depth;
      varying vec3 toEye;
      void main() {
        vec2 p = onDisc();
        float square = dot(p, p);
        if (square > 1.0) discard;
        vec3 normal = vec3(p, sqrt(1.0 - square));
        vec3 light = mix(fromGround, fromSky, 0.5 + 0.5 * dot(normal, up));
        light += max(0.0, dot(normal, directionalLights[0].direction)) * fromSun;
        #ifndef PLAIN
          float shine = max(0.0, dot(normal, normalize(directionalLights[0].direction + toEye)));
          light += 0.35 * pow(shine, 40.0) * dot(fromSun, vec3(0.333));
        #endif
        gl_FragColor = vec4(light, 1.0);
        gl_FragDepth = depth.x - normal.z * depth.y;
        #include <tonemapping_fragment>
        #include <colorspace_fragment>
      }`,
  });
  Object.assign(material.uniforms, shared, {
    table: { value: table },
    span: { value: table.matrix },
    markColor: { value: new Color('#ff7a3d') },
  });
  return material;
}

// Draws discs into the shadow map of a directional light.
export function sphereShadow(shared: SphereUniforms): ShaderMaterial {
  const material = new ShaderMaterial({
    vertexShader: /* glsl */ `
      ${kPlace}
      varying float depth;
      void main() {
        gl_Position = projectionMatrix * modelViewMatrix * vec4(place(), 1.0);
        gl_PointSize = pixels * projectionMatrix[1][1] * size();
        depth = 0.5 * gl_Position.z + 0.5;
      }`,
    fragmentShader: /* glsl */ `
      #include <packing>
      ${kDisc}
      varying float depth;
      void main() {
        vec2 p = onDisc();
        if (dot(p, p) > 1.0) discard;
        gl_FragColor = packDepthToRGBA(depth);
      }`,
  });
  Object.assign(material.uniforms, shared);
  return material;
}

// Draws slightly larger balls into an image of their depths from the viewer [m] and coordinates in the colour table.
export function sphereDepth(shared: SphereUniforms, table: Texture): ShaderMaterial {
  const material = new ShaderMaterial({
    vertexShader: /* glsl */ `
      ${kPlace}
      attribute float field;
      uniform mat3 span;
      varying vec3 ball; // depth of its centre, radius, coordinate in the table
      varying vec2 depth;
      void main() {
        float large = 1.25 * radius;
        vec4 centre = modelViewMatrix * vec4(place(), 1.0);
        vec4 pole = projectionMatrix * (centre + vec4(0.0, 0.0, large, 0.0));
        gl_Position = projectionMatrix * centre;
        gl_PointSize = pixels * projectionMatrix[1][1] * large / gl_Position.w;
        float middle = 0.5 * gl_Position.z / gl_Position.w + 0.5;
        depth = vec2(middle, middle - (0.5 * pole.z / pole.w + 0.5));
        ball = vec3(-centre.z, large, clamp((span * vec3(field, 0.5, 1.0)).x, 0.0, 1.0));
      }`,
    fragmentShader: /* glsl */ `
      ${kDisc}
      varying vec3 ball;
      varying vec2 depth;
      void main() {
        vec2 p = onDisc();
        float square = dot(p, p);
        if (square > 1.0) discard;
        float bulge = sqrt(1.0 - square);
        gl_FragColor = vec4(ball.x - bulge * ball.y, ball.z, 0.0, 1.0);
        gl_FragDepth = depth.x - bulge * depth.y;
      }`,
  });
  Object.assign(material.uniforms, shared, { span: { value: table.matrix } });
  return material;
}
