import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { FrameSchema } from '../src/gen/pliant/v1/stream_pb';
import { BufferPool, LatestFrame } from '../src/link/decode';
import { clampPriority, describeCompromises, idleHint, solverTrouble } from '../src/panel/panel';
import { groupJoints } from '../src/panel/robots';
import type { JointInfo } from '../src/link/messages';

function report(converged: boolean, stalled: boolean, stepsNotConverged: bigint, reason = '', compromises: Record<string, bigint> = {}) {
  const latest = new LatestFrame();
  latest.put(
    create(FrameSchema, {
      frame: 1n,
      report: { converged, stalled, iterations: 34, residual: 1.1e-6, stepsNotConverged, reason, compromises },
    }),
  );
  return latest.take([], [], new BufferPool())!.report!;
}

test('nothing is said while all steps converged', () => {
  expect(solverTrouble(report(true, false, 0n))).toBe('');
});

test('a step that stalled or failed is told with its residual', () => {
  expect(solverTrouble(report(false, true, 1n))).toBe('This step stalled: residual 1.1e-6 after 34 iterations (1 step so far).');
  expect(solverTrouble(report(false, false, 7n))).toMatch(/^This step did not converge: residual 1\.1e-6 /);
});

test('steps between frames are not forgotten', () => {
  expect(solverTrouble(report(true, false, 3n))).toBe('3 steps did not converge.');
});

test('a step that failed says why', () => {
  expect(solverTrouble(report(false, false, 1n, 'MAX_ITERATIONS'))).toMatch(/^This step did not converge \(max iterations\): /);
});

test('what steps relaxed or cut off stands in one line, and no line without it', () => {
  expect(describeCompromises(report(true, false, 0n))).toBe('');
  const limits = { redetection_limit: 2n, friction_clamped: 12n };
  expect(describeCompromises(report(true, false, 0n, 'CONVERGED', limits))).toBe('So far: friction clamped 12×, redetection limit 2×.');
});

test('a priority is a whole number from 0 to 100', () => {
  expect([-3, 0, 7.4, 100, 250, NaN].map(clampPriority)).toEqual([0, 0, 7, 100, 100, 0]);
});

test('the hint names what moves something in this world', () => {
  const nothing = { what: '', grip: false, sliders: false, pull: false };
  expect(idleHint({ ...nothing, what: 'paddle', pull: true })).toBe('Hold a key or a stick to move “paddle”, or drag it.');
  expect(idleHint({ ...nothing, what: 'arm', grip: true })).toMatch(/ G opens and closes its gripper\.$/);
  expect(idleHint({ ...nothing, pull: true })).toBe('Hold Ctrl and drag a body to pull it.');
  expect(idleHint({ ...nothing, sliders: true })).toBe('Move joints with their sliders.');
  expect(idleHint({ ...nothing, sliders: true, pull: true })).toMatch(/^Move joints .* Ctrl and drag a body to pull it\.$/);
  expect(idleHint(nothing)).toBe('Nothing here can be moved.');
});

test('pressures of soft bodies are no joints', () => {
  const joint = (name: string, drive: JointInfo['drive'], index: number): JointInfo => ({
    name, drive, index, slides: false, lower: null, upper: null, effortLimit: 1, child: 0,
  } as unknown as JointInfo);
  const robot = (joints: JointInfo[]) => ({ name: 'finger', joints, tools: [], grippers: [] }) as never;
  const titles = (joints: JointInfo[]) => groupJoints(robot(joints)).map(({ title }) => title);
  expect(titles([joint('inflate', 'activation', 0)])).toEqual(['Pressure']);
  expect(titles([joint('a', 'position', 0), joint('inflate', 'activation', 1), joint('bend', 'activation', 2)])).toEqual(['Joints', 'Pressures']);
});
