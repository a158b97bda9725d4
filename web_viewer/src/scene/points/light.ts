// The stage's light for custom shaders: its sun with shadows, and a hemisphere light in place of its environment.
import { Color, UniformsLib, UniformsUtils, Vector3, type Camera, type IUniform, type ShaderMaterial } from 'three';

export const kSun = /* glsl */ `
  struct DirectionalLight {
    vec3 direction; // towards it, in view space
    vec3 color;
  };
  uniform DirectionalLight directionalLights[NUM_DIR_LIGHTS];
  uniform vec3 sky, ground; // light of the surroundings from above and from below
  uniform vec3 up;          // in view space`;

// Fraction of the sunlight that reaches a point of the world, 0 … 1.
export const kSunlight = /* glsl */ `
  #include <packing>
  #if NUM_DIR_LIGHT_SHADOWS > 0
    uniform sampler2D directionalShadowMap[NUM_DIR_LIGHT_SHADOWS];
    uniform mat4 directionalShadowMatrix[NUM_DIR_LIGHT_SHADOWS];
  #endif
  float sunlight(vec3 point) {
    #if NUM_DIR_LIGHT_SHADOWS > 0
      vec4 at = directionalShadowMatrix[0] * vec4(point, 1.0);
      vec3 seen = at.xyz / at.w;
      if (any(lessThan(seen, vec3(0.0))) || any(greaterThan(seen, vec3(1.0)))) return 1.0;
      vec2 texel = 1.0 / vec2(textureSize(directionalShadowMap[0], 0));
      float lit = 0.0;
      for (int k = 0; k < 4; ++k) {
        vec2 aside = texel * (vec2(k & 1, k >> 1) * 2.0 - 1.0);
        lit += step(seen.z - 0.0005, unpackRGBAToDepth(texture2D(directionalShadowMap[0], seen.xy + aside)));
      }
      return 0.25 * lit;
    #else
      return 1.0;
    #endif
  }`;

// Uniforms of a material with `lights`.
export function lightUniforms(): Record<string, IUniform> {
  return UniformsUtils.merge([
    UniformsLib.lights,
    {
      sky: { value: new Color(0.42, 0.44, 0.47) },
      ground: { value: new Color(0.24, 0.235, 0.23) },
      up: { value: new Vector3(0, 0, 1) },
    },
  ]);
}

// Sets the up direction in view space. Call before each drawing.
export function setUp({ uniforms }: ShaderMaterial, camera: Camera): void {
  uniforms.up.value.set(0, 0, 1).transformDirection(camera.matrixWorldInverse);
}
