import { Box3, Vector3 } from 'three';
import { expect, test } from 'vitest';
import { interestingBox } from '../src/scene/shapes';

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
