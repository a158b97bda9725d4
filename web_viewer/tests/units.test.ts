import { expect, test } from 'vitest';
import { Measure } from '../src/link/messages';
import { quantity } from '../src/panel/legend';
import { forces, jointEffort, jointPosition, jointRate, milliseconds, newtons, trimmed, withPrefix } from '../src/panel/units';

test('numbers carry a prefix and no tail of zeros', () => {
  expect(withPrefix(50000, 'Pa')).toBe('50 kPa');
  expect(withPrefix(0, 'Pa')).toBe('0 Pa');
  expect(withPrefix(1234567, 'Pa')).toBe('1.23 MPa');
  expect(trimmed(0.025, 3)).toBe('0.025');
  expect(trimmed(20, 3)).toBe('20');
});

test('times and forces keep a steady number of digits', () => {
  expect(milliseconds(1.234)).toBe('1.23 ms');
  expect(milliseconds(44.4)).toBe('44 ms');
  expect(milliseconds(NaN)).toBe('–');
  expect(newtons(5.136)).toBe('5.14 N');
  expect(newtons(51.36)).toBe('51.4 N');
  expect(newtons(NaN)).toBe('–');
});

test('large forces and long ways carry a prefix', () => {
  expect(newtons(513.6)).toBe('514 N');
  expect(newtons(12652382)).toBe('12.7 MN');
  expect(newtons(999.6)).toBe('1.00 kN');
  expect(forces([12, -3400, 0])).toBe('0.01  -3.40  0.00 kN');
  expect(forces([0.001, -0.001, 2])).toBe('0.00  0.00  2.00 N');
  expect(jointEffort(-12652, true)).toBe('-12.7 kN');
  expect(jointEffort(1265.2, false)).toBe('1.27 kN·m');
  expect(jointPosition(12.5, true)).toBe('12.500 m');
  expect(jointRate(-2, true)).toBe('-2.000 m/s');
});

test('each measure is shown in its unit', () => {
  expect(quantity(Measure.strain, 0.0525, '')).toBe('5.25 %');
  expect(quantity(Measure.stress, 1500, 'Pa')).toBe('1.5 kPa');
  expect(quantity(Measure.contactPressure, 250, 'Pa')).toBe('250 Pa');
  expect(quantity(Measure.volume, 0.985, '')).toBe('0.985');
});

test('joints that turn are shown in degrees, those that slide in millimetres', () => {
  expect(jointPosition(Math.PI / 6, false)).toBe('30.0°');
  expect(jointPosition(-1e-9, false)).toBe('0.0°');
  expect(jointPosition(0.0255, true)).toBe('25.5 mm');
  expect(jointRate(-0.1, true)).toBe('-100.0 mm/s');
  expect(jointEffort(-12.34, false)).toBe('-12.3 N·m');
  expect(jointEffort(0.0123, false)).toBe('0.01 N·m');
  expect(jointEffort(80, true)).toBe('80.0 N');
});
