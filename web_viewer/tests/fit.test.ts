import { Box3, Plane, Vector3 } from 'three';
import { expect, test } from 'vitest';
import { interestingBox, withGround } from '../src/scene/shapes';

const cube = (x: number, size = 0.1) =>
  new Box3().setFromCenterAndSize(new Vector3(x, 0, 0.05), new Vector3(size, size, size));

test('the camera takes in what moves, and of a large table only what lies near', () => {
  const table = new Box3(new Vector3(-5, -5, -0.1), new Vector3(5, 5, 0));
  const box = interestingBox([cube(0), cube(0.2)], [table]);
  expect(box.containsBox(cube(0)) && box.containsBox(cube(0.2))).toBe(true);
  expect(box.getSize(new Vector3()).x).toBeLessThan(1);
});

test('a body that rolled far away does not draw the camera off', () => {
  const box = interestingBox([cube(0), cube(0.2), cube(-0.2), cube(0.1), cube(30)], []);
  expect(box.max.x).toBeCloseTo(0.25, 9);
});

test('a robot far from small objects is shown with them', () => {
  const box = interestingBox([cube(0), cube(0.1)], [], [cube(-2, 1)]);
  expect(box.min.x).toBeCloseTo(-2.5, 9);
  expect(box.max.x).toBeCloseTo(0.15, 9);
});

test('a scene without anything that moves is shown whole', () => {
  expect(interestingBox([], [cube(0), cube(3)]).max.x).toBeCloseTo(3.05, 9);
});

test('an empty scene still has a place to look at', () => {
  expect(interestingBox([], []).isEmpty()).toBe(false);
});

const raised = (z: number) => cube(0).translate(new Vector3(0, 0, z));
const floor = new Plane(new Vector3(0, 0, 1), 0);

test('bodies in the air are framed with the ground below them', () => {
  const body = raised(1); // its bottom is at 1 m
  const box = withGround(interestingBox([body], []), [body], [floor], []);
  expect(box.min.z).toBeCloseTo(0, 9);
  expect(box.containsBox(body)).toBe(true);
});

test('a body falls on what is highest below it', () => {
  const body = raised(1);
  const table = new Box3(new Vector3(-1, -1, 0.4), new Vector3(1, 1, 0.5));
  const shelf = new Box3(new Vector3(-1, -1, 1.4), new Vector3(1, 1, 1.5)); // above it
  const beside = new Box3(new Vector3(3, 3, 0.6), new Vector3(4, 4, 0.7));
  expect(withGround(body, [body], [floor], [table, shelf, beside]).min.z).toBeCloseTo(0.5, 9);
});

test('the ground of a slope is that below the body', () => {
  const body = raised(1).translate(new Vector3(0.5, 0, 0));
  const slope = new Plane(new Vector3(-1, 0, 1).normalize(), 0); // z = x
  expect(withGround(body, [body], [slope], []).min.z).toBeCloseTo(0.5, 9);
});

test('the frame stays as it is without ground, with ground far below, and for what does not fall', () => {
  const body = raised(1);
  expect(withGround(body, [body], [], []).equals(body)).toBe(true);
  expect(withGround(body, [], [floor], []).equals(body)).toBe(true);
  const high = raised(100);
  expect(withGround(high, [high], [floor], []).equals(high)).toBe(true);
  const stray = raised(50);
  expect(withGround(body, [stray], [floor], []).equals(body)).toBe(true);
});
