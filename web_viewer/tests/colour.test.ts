import { describe, expect, test } from 'vitest';
import { Measure } from '../src/link/messages';
import { colorTable, divergingColor, perceivedLightness, sequentialColor } from '../src/scene/colormap';
import { AutoRange, roundUp } from '../src/scene/range';

describe('colours', () => {
  test('of the sequential map brighten evenly', () => {
    const lightness = Array.from({ length: 101 }, (_, i) => perceivedLightness(sequentialColor(i / 100)));
    const step = (lightness[100] - lightness[0]) / 100;
    for (let i = 1; i <= 100; ++i) expect(lightness[i] - lightness[i - 1]).toBeCloseTo(step, 3);
    expect(step).toBeGreaterThan(0.004);
  });

  test('of the diverging map are as light on one side as on the other', () => {
    for (let t = 0; t <= 0.5; t += 0.05) {
      expect(perceivedLightness(divergingColor(t))).toBeCloseTo(perceivedLightness(divergingColor(1 - t)), 2);
    }
    expect(perceivedLightness(divergingColor(0.5))).toBeGreaterThan(0.9);
  });

  test('fill a table from end to end', () => {
    const table = colorTable(sequentialColor, 8);
    expect(table).toHaveLength(32);
    sequentialColor(1).forEach((x, k) => expect(table[28 + k]).toBe(Math.round(255 * x)));
  });
});

describe('the range of colours', () => {
  test('opens within a few frames and ends on a round number', () => {
    const range = new AutoRange(Measure.strain);
    for (let i = 0; i < 40; ++i) range.update(0, 0.27, 0.016);
    expect(range.range).toEqual({ low: 0, high: 0.3 });
  });

  test('does not flicker under noise', () => {
    const range = new AutoRange(Measure.strain);
    for (let i = 0; i < 100; ++i) range.update(0, 0.2, 0.016);
    const seen = new Set<number>();
    for (let i = 0; i < 2000; ++i) {
      range.update(0, 0.2 * (1 + 0.2 * Math.sin(7.3 * i)), 0.016);
      seen.add(range.range.high);
    }
    expect(seen.size).toBeLessThanOrEqual(2);
  });

  test('closes slowly when the load is gone, and not below the quiet level', () => {
    const range = new AutoRange(Measure.strain);
    for (let i = 0; i < 100; ++i) range.update(0, 0.5, 0.016);
    range.update(0, 0, 0.1);
    expect(range.range.high).toBe(0.5);
    for (let i = 0; i < 2000; ++i) range.update(0, 0, 0.016);
    expect(range.range.high).toBe(0.02);
  });

  test('stays while it is held', () => {
    const range = new AutoRange(Measure.strain);
    range.locked = true;
    for (let i = 0; i < 100; ++i) range.update(0, 5, 0.016);
    expect(range.range.high).toBe(0.02);
  });

  test('of a ratio lies around one', () => {
    const range = new AutoRange(Measure.volume);
    for (let i = 0; i < 100; ++i) range.update(0.86, 1.02, 0.016);
    expect(range.range.low).toBeCloseTo(0.85, 9);
    expect(range.range.high).toBeCloseTo(1.15, 9);
  });

  test('of pressure lies around zero, as suction is negative', () => {
    const range = new AutoRange(Measure.pressure, 1e4);
    expect(range.range).toEqual({ low: -200, high: 200 }); // 2 % of the modulus while nothing presses
    for (let i = 0; i < 100; ++i) range.update(-10, 900, 0.016);
    expect(range.range).toEqual({ low: -1000, high: 1000 });
  });

  test('rounds up to numbers that people like', () => {
    expect([0.011, 0.02, 3.2, 70, 71].map(roundUp).map((x) => Number(x.toPrecision(6)))).toEqual([0.015, 0.02, 5, 70, 100]);
  });
});
