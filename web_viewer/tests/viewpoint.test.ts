import { expect, test } from 'vitest';
import { chooseTurn } from '../src/scene/viewpoint';

const kDegree = Math.PI / 180;

test('a scene is looked at from the usual side while all is seen from there', () => {
  let looks = 0;
  const turn = chooseTurn(() => {
    ++looks;
    return 0;
  });
  expect(turn).toBe(0);
  expect(looks).toBe(1);
});

test('where the usual side hides half of it, the nearest side that shows it is taken', () => {
  const hidden = (turn: number) => (Math.abs(turn - 80 * kDegree) < 60 * kDegree ? 0 : 0.5);
  expect(chooseTurn(hidden)).toBeCloseTo(45 * kDegree, 9);
});

test('nobody walks around a scene for a finger or two', () => {
  expect(chooseTurn((turn) => (turn === 0 ? 0.04 : 0))).toBe(0);
});
