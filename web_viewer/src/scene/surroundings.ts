// Light from all sides, as in a room.
import { LightProbe, PMREMGenerator, SphericalHarmonics3, type Scene, type WebGLRenderer } from 'three';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';

const kIntensity = 0.42;
const kDiffuseIntensity = 0.46; // makes up for the reflections

// The room's radiance in spherical harmonics of degree 0 to 2, which all colours share, in the order of SphericalHarmonics3;
// computed by LightProbeGenerator from the RoomEnvironment of three.js 0.180.
const kRoom = [3.529, 1.476, 1.19, 0.168, 0.18, 1.212, 0.387, -0.169, -1.125];

// Adds the light to a scene. Without `reflections`, bodies are lit diffusely only, which spares drawing the room in advance:
// without a GPU, that takes a fifth of the time until the first picture.
export function addSurroundings(scene: Scene, renderer: WebGLRenderer, reflections: boolean): void {
  if (!reflections) {
    const harmonics = new SphericalHarmonics3();
    kRoom.forEach((value, i) => harmonics.coefficients[i].setScalar(value));
    scene.add(new LightProbe(harmonics, kDiffuseIntensity));
    return;
  }
  const room = new RoomEnvironment();
  const pmrem = new PMREMGenerator(renderer);
  scene.environment = pmrem.fromScene(room, 0.03).texture;
  scene.environmentIntensity = kIntensity;
  pmrem.dispose();
  room.dispose();
}
