// Goals of a robot's joints and grippers. They are sent repeatedly until the targets in the world have reached them, so that
// the robot stops when the page stops sending (page closed, lease lost).
import type { GripperInfo, JointFrameInfo, JointInfo, RobotInfo, Setting } from '../link/messages';

const kRepeatMs = 40; // rates and efforts lapse 100 ms after a command
const kStuckMs = 1500; // a goal is dropped when its target makes no progress for this long
const kReached = 1e-9;

interface Goal {
  value: number;
  held: boolean; // the user is still moving the control
  away: number; // smallest distance of the target so far
  closerAt: number; // time of the last progress
}

export interface Range {
  low: number;
  high: number;
}

// Range of a joint's slider: the joint's limits, or a default where it has none (one turn or ±1 m for a position).
export function jointRange(joint: JointInfo): Range {
  if (joint.drive === 'velocity') {
    const limit = Number.isFinite(joint.velocityLimit) ? joint.velocityLimit : joint.slides ? 0.5 : 3;
    return { low: -limit, high: limit };
  }
  if (joint.drive === 'torque') {
    const limit = Number.isFinite(joint.effortLimit) ? joint.effortLimit : 10;
    return { low: -limit, high: limit };
  }
  if (joint.drive === 'activation') {
    return { low: 0, high: Number.isFinite(joint.effortLimit) ? joint.effortLimit : 1e5 };
  }
  const reach = joint.slides ? 1 : Math.PI;
  return {
    low: Number.isFinite(joint.lower) ? joint.lower : -reach,
    high: Number.isFinite(joint.upper) ? joint.upper : reach,
  };
}

// Open and closed positions of a gripper. Sliding jaws are taken as open far from zero, rotating fingers as closed there.
export function gripperRange(gripper: GripperInfo, robot: RobotInfo): { open: number; closed: number } {
  const joints = robot.joints.filter(({ name }) => gripper.joints.includes(name));
  if (joints.length === 0) return { open: 0, closed: 0 };
  const ranges = joints.map(jointRange);
  const low = Math.min(...ranges.map((range) => range.low));
  const high = Math.max(...ranges.map((range) => range.high));
  const far = Math.abs(high) >= Math.abs(low) ? high : low;
  const near = Math.min(high, Math.max(low, 0));
  return joints.every(({ slides }) => slides) ? { open: far, closed: near } : { open: near, closed: far };
}

export class RobotGoals {
  private readonly joints = new Map<string, Goal>();
  private readonly grippers = new Map<string, Goal>();
  private sentAt = -Infinity;

  constructor(
    private readonly robot: RobotInfo,
    private readonly send: (setting: Setting, fresh: boolean) => void,
  ) {}

  // `held`: the user is still moving the slider. After release, position goals are still pursued; rates and efforts return
  // to zero.
  setJoint(name: string, value: number, held: boolean, now: number): void {
    const fresh = !this.joints.get(name)?.held;
    this.joints.set(name, { value, held, away: Infinity, closerAt: now });
    this.send({ kind: 'joints', joints: [name], values: [value] }, fresh);
  }

  setGripper(name: string, position: number, held: boolean, now: number): void {
    const fresh = !this.grippers.get(name)?.held;
    this.grippers.set(name, { value: position, held, away: Infinity, closerAt: now });
    this.send({ kind: 'gripper', controller: name, position }, fresh);
  }

  lift(name: string, now: number): void {
    const goal = this.joints.get(name) ?? this.grippers.get(name);
    if (!goal) return;
    goal.held = false;
    goal.closerAt = now;
    const drive = this.robot.joints.find((joint) => joint.name === name)?.drive;
    if (drive === 'velocity' || drive === 'torque') this.setJoint(name, 0, false, now);
  }

  jointGoal(name: string): number | null {
    return this.joints.get(name)?.value ?? null;
  }
  gripperGoal(name: string): number | null {
    return this.grippers.get(name)?.value ?? null;
  }
  get busy(): boolean {
    return this.joints.size + this.grippers.size > 0;
  }

  // Drops the goals of these joints, because something else moves them now. Without names: all goals, grippers included.
  drop(joints?: string[]): void {
    if (!joints) this.grippers.clear();
    for (const name of joints ?? [...this.joints.keys()]) this.joints.delete(name);
  }

  // Repeats the goals, and drops those that are reached or stuck. Call it often, with the world's latest targets. While the
  // world is `paused`, goals do not count as stuck.
  tick(frame: JointFrameInfo, paused: boolean, now: number): void {
    if (paused) for (const goal of [...this.joints.values(), ...this.grippers.values()]) goal.closerAt = now;
    for (const [name, goal] of this.joints) {
      if (this.isOver(goal, this.distance([name], goal.value, frame), now)) this.joints.delete(name);
    }
    for (const [name, goal] of this.grippers) {
      const joints = this.robot.grippers.find((gripper) => gripper.name === name)?.joints ?? [];
      if (this.isOver(goal, this.distance(joints, goal.value, frame), now)) this.grippers.delete(name);
    }
    if (!this.busy || now - this.sentAt < kRepeatMs) return;
    this.sentAt = now;
    const joints = [...this.joints.keys()];
    if (joints.length > 0) {
      this.send({ kind: 'joints', joints, values: joints.map((name) => this.joints.get(name)!.value) }, false);
    }
    for (const [controller, { value }] of this.grippers) this.send({ kind: 'gripper', controller, position: value }, false);
  }

  private isOver(goal: Goal, away: number, now: number): boolean {
    if (goal.held) return false;
    if (away <= kReached) return true;
    if (away < goal.away) [goal.away, goal.closerAt] = [away, now];
    return now - goal.closerAt > kStuckMs;
  }

  // Largest distance between the joints' current targets and the goal.
  private distance(names: string[], value: number, frame: JointFrameInfo): number {
    let most = 0;
    for (const joint of this.robot.joints) {
      if (!names.includes(joint.name)) continue;
      const wanted = Math.min(joint.upper, Math.max(joint.lower, value));
      most = Math.max(most, Math.abs((frame.targets[joint.index] ?? wanted) - (joint.drive === 'position' ? wanted : value)));
    }
    return most;
  }
}
