import { beforeEach, describe, expect, test } from 'vitest';
import { gripperRange, jointRange, RobotGoals } from '../src/drive/goals';
import type { JointFrameInfo, JointInfo, RobotInfo, Setting } from '../src/link/messages';

const joint = (name: string, index: number, changes: Partial<JointInfo> = {}): JointInfo => ({
  name,
  index,
  slides: false,
  lower: -2,
  upper: 1,
  velocityLimit: 1.5,
  effortLimit: 10,
  drive: 'position',
  ...changes,
});

const kRobot: RobotInfo = {
  name: 'arm',
  links: [],
  joints: [
    joint('elbow', 0),
    joint('wheel', 1, { drive: 'velocity', lower: -Infinity, upper: Infinity }),
    joint('left', 2, { slides: true, lower: -0.055, upper: 0 }),
    joint('right', 3, { slides: true, lower: 0, upper: 0.055, drive: 'none' }),
    joint('finger', 4, { lower: -0.2, upper: 1.6 }),
  ],
  tools: [],
  grippers: [{ name: 'jaws', joints: ['left'] }],
  groups: [], hasGamepad: false,
};

let sent: { setting: Setting; fresh: boolean }[];
let goals: RobotGoals;

beforeEach(() => {
  sent = [];
  goals = new RobotGoals(kRobot, (setting, fresh) => sent.push({ setting, fresh }));
});

const targets = (...numbers: number[]): JointFrameInfo => ({ positions: [], velocities: [], efforts: [], targets: numbers });

describe('what a slider wants', () => {
  test('is sent at once, the first time as a new gesture, and repeated until the world has got there', () => {
    goals.setJoint('elbow', 0.4, true, 0);
    goals.setJoint('elbow', 0.5, true, 10);
    expect(sent.map(({ fresh }) => fresh)).toEqual([true, false]);
    goals.lift('elbow', 20);
    for (let now = 0; now <= 1000; now += 10) goals.tick(targets(0.0004 * now), false, now);
    expect(sent.length).toBeGreaterThan(8);
    expect(sent.at(-1)!.setting).toEqual({ kind: 'joints', joints: ['elbow'], values: [0.5] });
    expect(goals.busy).toBe(true);
    goals.tick(targets(0.5), false, 1100);
    expect(goals.busy).toBe(false);
  });

  test('is kept while a hand is on it, though the world has got there', () => {
    goals.setJoint('elbow', 0.5, true, 0);
    for (let now = 0; now <= 5000; now += 10) goals.tick(targets(0.5), false, now);
    expect(goals.jointGoal('elbow')).toBe(0.5);
  });

  test('beyond the limits is reached at the limit', () => {
    goals.setJoint('elbow', 5, false, 0);
    goals.tick(targets(1), false, 10);
    expect(goals.busy).toBe(false);
  });

  test('is given up when the target does not move, unless the world stands still', () => {
    goals.setJoint('elbow', 0.5, false, 0);
    for (let now = 0; now <= 5000; now += 100) goals.tick(targets(0.2), true, now);
    expect(goals.busy).toBe(true);
    for (let now = 5000; now <= 7000; now += 100) goals.tick(targets(0.2), false, now);
    expect(goals.busy).toBe(false);
  });

  test('of a rate ends when the hand lifts', () => {
    goals.setJoint('wheel', 1, true, 0);
    goals.lift('wheel', 50);
    expect(sent.at(-1)!.setting).toEqual({ kind: 'joints', joints: ['wheel'], values: [0] });
    goals.tick(targets(0, 0), false, 100);
    expect(goals.busy).toBe(false);
  });

  test('is dropped when a controller takes the joint; the gripper goes on', () => {
    goals.setJoint('elbow', 0.5, false, 0);
    goals.setGripper('jaws', -0.055, false, 0);
    goals.drop(['elbow']);
    goals.tick(targets(0, 0, -0.01), false, 200);
    expect(sent.at(-1)!.setting).toEqual({ kind: 'gripper', controller: 'jaws', position: -0.055 });
    goals.drop();
    expect(goals.busy).toBe(false);
  });
});

test('a slider spans the limits of its joint, or one turn', () => {
  expect(jointRange(kRobot.joints[0])).toEqual({ low: -2, high: 1 });
  expect(jointRange(kRobot.joints[1])).toEqual({ low: -1.5, high: 1.5 });
  expect(jointRange(joint('free', 0, { lower: -Infinity, upper: Infinity }))).toEqual({ low: -Math.PI, high: Math.PI });
});

test('jaws are open far from zero, fingers closed', () => {
  expect(gripperRange(kRobot.grippers[0], kRobot)).toEqual({ open: -0.055, closed: 0 });
  expect(gripperRange({ name: 'hand', joints: ['finger'] }, kRobot)).toEqual({ open: 0, closed: 1.6 });
});
