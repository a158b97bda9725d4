// The floor: shadows and a fine grid on a plane that fades into the background. Half-spaces of the scene are drawn as floors;
// without one, a floor lies just below all bodies.
import { Color, Group, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial } from 'three';

export function makeFloor(size: number, cell: number, solid: boolean): Group {
  const group = new Group();
  const plane = new PlaneGeometry(2 * size, 2 * size);

  const grid = new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    uniforms: {
      cell: { value: cell },
      reach: { value: size },
      line: { value: new Color('#5b6b82') },
      ground: { value: new Color(solid ? '#dfe4ea' : '#e9edf2') },
      cover: { value: solid ? 0.85 : 0.55 },
    },
    vertexShader: /* glsl */ `
      varying vec2 at;
      void main() {
        at = position.xy;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      }`,
    fragmentShader: /* glsl */ `
      uniform float cell, reach, cover;
      uniform vec3 line, ground;
      varying vec2 at;
      // coverage of lines one pixel wide, without moiré where cells are smaller than pixels
      float lines(vec2 p) {
        vec2 width = fwidth(p);
        vec2 d = abs(fract(p - 0.5) - 0.5) / width;
        vec2 shown = clamp(1.0 - d, 0.0, 1.0) * clamp(0.6 - 1.2 * width, 0.0, 1.0);
        return max(shown.x, shown.y);
      }
      void main() {
        float fade = smoothstep(1.0, 0.15, length(at) / reach);
        float drawn = max(0.16 * lines(at / cell), 0.3 * lines(at / (5.0 * cell)));
        gl_FragColor = vec4(mix(ground, line, drawn), fade * max(cover, drawn));
        #include <colorspace_fragment>
      }`,
  });
  const gridMesh = new Mesh(plane, grid);
  gridMesh.renderOrder = -2;

  const shadowMesh = new Mesh(plane, new ShadowMaterial({ color: '#1c2735', opacity: 0.28, depthWrite: false }));
  shadowMesh.receiveShadow = true;
  shadowMesh.renderOrder = -1;
  shadowMesh.position.z = 1e-5;
  group.add(gridMesh, shadowMesh);
  return group;
}
