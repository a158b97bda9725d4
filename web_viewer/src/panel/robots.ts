// The robot panel, one section per robot: positions and efforts of its joints, sliders for their targets, and its grippers.
import { gripperRange, jointRange, RobotGoals } from '../drive/goals';
import type { FrameInfo, GripperInfo, JointInfo, LeaseInfo, RobotInfo, Setting, WorldInfo } from '../link/messages';
import { element } from './dom';
import { jointEffort, jointPosition, jointRate, withPrefix } from './units';

const kShowMs = 60; // update interval; numbers that change faster cannot be read
const kMaxPassiveJoints = 6; // groups with more joints, none of them driven, start collapsed

export interface RobotPort {
  set(robot: string, setting: Setting, fresh: boolean): void;
  release(robot: string): void;
  takeover(robot: string): void;
}

export class RobotPanel {
  private readonly root = element('robots');
  private views: RobotView[] = [];
  private shownAt = 0;
  private running = false;
  private epoch = -1;

  constructor(private readonly port: RobotPort) {
    // a hidden page does not drive
    document.addEventListener('visibilitychange', () => document.hidden && this.letGo());
    window.addEventListener('pagehide', () => this.letGo());
  }

  build(world: WorldInfo): void {
    this.views = world.robots
      .filter(({ joints }) => joints.length > 0)
      .map((robot, i) => new RobotView(robot, this.port, i === 0 || world.robots.length <= 2));
    this.root.replaceChildren(...this.views.map(({ section }) => section));
    this.root.hidden = this.views.length === 0;
    this.epoch = -1;
  }

  showFrame(frame: FrameInfo, me: string, now: number): void {
    // goals from before a stop, a pause or a reset are dropped
    const running = frame.clock.mode !== 'paused';
    if (frame.stopped || frame.epoch !== this.epoch || (this.running && !running)) this.drop();
    this.running = running;
    this.epoch = frame.epoch;

    for (const view of this.views) view.goals.tick(frame.joints, !running, now);
    if (now - this.shownAt < kShowMs && running) return;
    this.shownAt = now;
    for (const view of this.views) view.show(frame, me);
  }

  // Repeats the goals even when few frames arrive, as from a paused world.
  tick(frame: FrameInfo | null, now: number): void {
    if (frame) for (const view of this.views) view.goals.tick(frame.joints, frame.clock.mode === 'paused', now);
  }

  showLease(lease: LeaseInfo): void {
    const isOn = ({ name }: RobotInfo) => lease.target === name || lease.target.startsWith(`${name}/`);
    this.views.find(({ robot }) => isOn(robot))?.showLease(lease);
  }

  // Enables only the joints of a group; null: all joints.
  setGroup(robot: string, joints: string[] | null): void {
    this.views.find((view) => view.robot.name === robot)?.setGroup(joints);
  }

  // Drops the goals of joints that a controller drives now.
  dropJoints(robot: string, joints: string[]): void {
    this.views.find((view) => view.robot.name === robot)?.goals.drop(joints);
  }

  // Opens or closes the gripper of a robot.
  grip(robot: string): void {
    this.views.find((view) => view.robot.name === robot)?.grip();
  }

  drop(): void {
    for (const { goals } of this.views) goals.drop();
  }

  private letGo(): void {
    this.drop();
    for (const { robot } of this.views) this.port.release(robot.name);
  }
}

class RobotView {
  readonly section = document.createElement('section');
  readonly goals: RobotGoals;
  private readonly tag = make('span', 'tag');
  private readonly note = make('p', 'note');
  private readonly takeover = make('button', 'button wide', 'Take over');
  private readonly joints: JointRow[] = [];
  private readonly grippers: GripperRow[] = [];

  constructor(
    readonly robot: RobotInfo,
    port: RobotPort,
    open: boolean,
  ) {
    this.goals = new RobotGoals(robot, (setting, fresh) => port.set(robot.name, setting, fresh));
    const head = make('div', 'row');
    head.append(make('h2', '', robot.name), this.tag);
    this.takeover.hidden = true;
    this.takeover.addEventListener('click', () => {
      this.takeover.blur();
      port.takeover(robot.name);
    });
    this.section.dataset.robot = robot.name;
    this.section.append(head, this.note, this.takeover);
    for (const gripper of robot.grippers) {
      const row = new GripperRow(gripper, robot, this.goals);
      this.grippers.push(row);
      this.section.append(row.root);
    }
    groupJoints(robot).forEach(({ title, joints, isGripper }, i) => {
      const group = make('details', '');
      // a long list of joints that cannot be driven starts collapsed
      const isPassive = joints.length > kMaxPassiveJoints && joints.every(({ drive }) => drive === 'none');
      group.open = open && !isGripper && !isPassive && i < 2;
      group.append(make('summary', '', title));
      for (const joint of joints) {
        const row = new JointRow(joint, this.goals);
        this.joints.push(row);
        group.append(row.root);
      }
      this.section.append(group);
    });
  }

  show(frame: FrameInfo, me: string): void {
    const { name } = this.robot;
    const drivers = frame.drivers.filter(({ target }) => target === name || target.startsWith(`${name}/`));
    const driver = (drivers.find(({ client }) => client === me) ?? drivers[0])?.client;
    const text = frame.stopped ? 'stopped' : driver === undefined ? 'idle' : driver === me ? 'you are driving' : driver || 'in use';
    if (this.tag.textContent !== text) this.tag.textContent = text;
    this.tag.dataset.state = driver === me ? 'held' : '';
    for (const row of this.joints) row.show(frame, this.goals.jointGoal(row.joint.name));
    for (const row of this.grippers) row.show(frame, this.goals.gripperGoal(row.gripper.name));
  }

  showLease({ state, text }: LeaseInfo): void {
    const failed = state === 'refused' || state === 'lost';
    if (failed) this.goals.drop();
    this.note.textContent = failed ? text : '';
    this.takeover.hidden = !failed;
  }

  setGroup(joints: string[] | null): void {
    this.goals.drop();
    for (const row of this.joints) row.enable(!joints || joints.includes(row.joint.name));
    for (const row of this.grippers) row.enable(!joints || row.gripper.joints.every((name) => joints.includes(name)));
  }

  grip(): void {
    this.grippers[0]?.toggle();
  }
}

// Groups the joints by tool and gripper, then the remaining ones, then pressures of soft bodies, which are not joints. Each
// joint is in one group.
export function groupJoints(robot: RobotInfo): { title: string; joints: JointInfo[]; isGripper: boolean }[] {
  const pressures = robot.joints.filter(({ drive }) => drive === 'activation');
  const moving = robot.joints.filter(({ drive }) => drive !== 'activation');
  const left = new Set(moving.map(({ name }) => name));
  const take = (title: string, names: string[], isGripper: boolean) => {
    const joints = moving.filter(({ name }) => left.has(name) && names.includes(name));
    for (const { name } of joints) left.delete(name);
    return { title, joints, isGripper };
  };
  const groups = [
    ...robot.tools.map(({ name, joints }) => take(name, joints, false)),
    ...robot.grippers.map(({ name, joints }) => take(name, joints, true)),
    take('other', [...left], false),
  ].filter(({ joints }) => joints.length > 0);
  return [
    ...groups.map((group) => ({ ...group, title: groups.length > 1 ? `Joints: ${group.title}` : 'Joints' })),
    ...(pressures.length > 0 ? [{ title: pressures.length > 1 ? 'Pressures' : 'Pressure', joints: pressures, isGripper: false }] : []),
  ];
}

class JointRow {
  readonly root = make('label', 'joint');
  private readonly slider: Slider;
  private readonly value = make('output', '');
  private readonly effort = make('small', '');

  constructor(
    readonly joint: JointInfo,
    goals: RobotGoals,
  ) {
    const { low, high } = jointRange(joint);
    this.slider = new Slider(low, high, {
      move: (value) => goals.setJoint(joint.name, value, true, performance.now()),
      lift: () => goals.lift(joint.name, performance.now()),
    });
    this.enable(true);
    this.slider.input.dataset.joint = joint.name;
    // shorten the label by the redundant suffix
    const name = make('span', '', joint.name.replace(/_joint$/, ''));
    name.title = joint.name;
    this.root.append(name, this.value, this.effort, this.slider.root);
  }

  enable(on: boolean): void {
    this.slider.input.disabled = !on || this.joint.drive === 'none';
  }

  show(frame: FrameInfo, goal: number | null): void {
    const { index, drive, slides, effortLimit } = this.joint;
    const { positions, velocities, targets, efforts } = frame.joints;
    const position = positions[index] ?? 0;
    const actual =
      drive === 'velocity' ? (velocities[index] ?? 0) : drive === 'torque' || drive === 'activation' ? (efforts[index] ?? 0) : position;
    const target = drive === 'none' ? position : (targets[index] ?? 0);
    this.slider.show(goal ?? target, drive === 'none' ? null : actual);
    if (drive === 'activation') {
      setWhere(this.value, withPrefix(actual, 'Pa'));
      return;
    }
    setWhere(this.value, drive === 'velocity' ? jointRate(actual, slides) : jointPosition(position, slides));
    const effort = efforts[index] ?? 0;
    setWhere(this.effort, drive === 'none' ? '' : jointEffort(effort, slides));
    this.effort.classList.toggle('warn', drive !== 'none' && Math.abs(effort) > 0.98 * effortLimit);
  }
}

class GripperRow {
  readonly root = make('div', 'gripper');
  private readonly slider: Slider;
  private readonly index: number;
  private readonly open: number;
  private readonly closed: number;
  private shown = 0;

  constructor(
    readonly gripper: GripperInfo,
    robot: RobotInfo,
    private readonly goals: RobotGoals,
  ) {
    ({ open: this.open, closed: this.closed } = gripperRange(gripper, robot));
    this.index = robot.joints.find(({ name }) => gripper.joints.includes(name))?.index ?? -1;
    this.slider = new Slider(Math.min(this.open, this.closed), Math.max(this.open, this.closed), {
      move: (value) => goals.setGripper(gripper.name, value, true, performance.now()),
      lift: () => goals.lift(gripper.name, performance.now()),
    });
    this.slider.input.dataset.gripper = gripper.name;
    this.slider.input.setAttribute('aria-label', `Opening of ${gripper.name}`);
    const head = make('div', 'row');
    const title = make('span', '', gripper.name);
    title.append(make('kbd', '', 'G'));
    head.append(title, this.button('Open', this.open), this.button('Close', this.closed));
    this.root.append(head, this.slider.root);
  }

  enable(on: boolean): void {
    for (const control of this.root.querySelectorAll<HTMLInputElement | HTMLButtonElement>('input, button')) {
      control.disabled = !on;
    }
  }

  show(frame: FrameInfo, goal: number | null): void {
    this.shown = goal ?? frame.joints.targets[this.index] ?? 0;
    this.slider.show(this.shown, frame.joints.positions[this.index] ?? null);
  }

  // Opens or closes, whichever is further from the current goal.
  toggle(): void {
    if (this.slider.input.disabled) return;
    const toOpen = Math.abs(this.shown - this.open) > Math.abs(this.shown - this.closed);
    this.send(toOpen ? this.open : this.closed);
  }

  private button(text: string, position: number): HTMLButtonElement {
    const button = make('button', 'small', text);
    button.addEventListener('click', () => {
      button.blur();
      this.send(position);
    });
    return button;
  }

  private send(position: number): void {
    this.shown = position;
    this.goals.setGripper(this.gripper.name, position, false, performance.now());
  }
}

interface SliderPort {
  move(value: number): void;
  lift(): void;
}

// A slider for the target, with a mark at the actual value.
class Slider {
  readonly root = make('div', 'track');
  readonly input = make('input', '');
  private readonly mark = make('i', '');
  private held = false;

  constructor(
    private readonly low: number,
    private readonly high: number,
    port: SliderPort,
  ) {
    this.input.type = 'range';
    this.input.min = String(low);
    this.input.max = String(high);
    this.input.step = String((high - low) / 2000 || 1);
    this.root.append(this.input, this.mark);
    this.input.addEventListener('input', () => {
      this.held = true;
      port.move(Number(this.input.value));
    });
    // released, by the pointer or a key
    this.input.addEventListener('change', () => {
      this.held = false;
      port.lift();
    });
    this.input.addEventListener('pointerup', () => this.input.blur());
  }

  show(wanted: number, actual: number | null): void {
    if (!this.held && Math.abs(Number(this.input.value) - wanted) > 1e-9) this.input.value = String(wanted);
    this.mark.hidden = actual === null;
    if (actual === null) return;
    const part = Math.min(1, Math.max(0, (actual - this.low) / (this.high - this.low || 1)));
    this.mark.style.left = `calc(8px + (100% - 16px) * ${part.toFixed(4)})`;
  }
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, className: string, text = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function setWhere(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}
