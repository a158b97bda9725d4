import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseHolder, Leases } from '../src/link/lease';
import type { Command, LeaseInfo, Motion, Setting, TwistCommand } from '../src/link/messages';

const kUp: TwistCommand = { linear: [0, 0, 0.2], angular: [0, 0, 0] };
const kRest: TwistCommand = { linear: [0, 0, 0], angular: [0, 0, 0] };

let asked: { target: string; takeover: boolean }[];
let released: string[];
let sent: { target: string; leaseId: string; command: Command }[];
let state: LeaseInfo;
let answer: () => Promise<string>;
let lease: LeaseHolder;
let leases: Leases;

beforeEach(() => {
  [asked, released, sent] = [[], [], []];
  state = { state: 'none', target: '', text: '' };
  let number = 0;
  answer = () => Promise.resolve(`lease-${++number}`);
  const port = {
    acquire: (target: string, takeover: boolean) => {
      asked.push({ target, takeover });
      return answer();
    },
    release: (id: string) => released.push(id),
    command: (target: string, leaseId: string, command: Command) => sent.push({ target, leaseId, command }),
    changed: (info: LeaseInfo) => (state = info),
  };
  lease = new LeaseHolder('paddle', port);
  leases = new Leases(port);
});

const turn = (twist: TwistCommand, controller = ''): Motion => ({ kind: 'twist', controller, ...twist });

// Returns the twist of the last command; null if it is not a twist.
function lastTwist(): TwistCommand | null {
  const command = sent.at(-1)?.command;
  return command?.kind === 'twist' ? { linear: command.linear, angular: command.angular } : null;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

// Drives from `from` to `to` [ms], with the repetition of a responsive page.
function hold(from: number, to: number, twist = kUp): void {
  for (let now = from; now <= to; now += 15) {
    lease.drive(turn(twist, ''), now);
    lease.tick(now);
  }
}

describe('the lease', () => {
  test('is asked for on the first touch, once', async () => {
    hold(0, 60);
    await settled();
    expect(asked).toEqual([{ target: 'paddle', takeover: false }]);
    expect(state.state).toBe('held');
  });

  test('sends on change and at least every 45 ms, while the hand is on', async () => {
    lease.drive(turn(kUp, ''), 0);
    await settled();
    hold(15, 315);
    expect(sent.length).toBeGreaterThanOrEqual(7);
    expect(lastTwist()).toEqual(kUp);
    const before = sent.length;
    lease.drive(turn({ ...kUp, linear: [0.1, 0, 0] }, ''), 316);
    expect(sent.length).toBe(before + 1);
  });

  test('sends rest the moment the hand lets go, and is given back soon after', async () => {
    lease.drive(turn(kUp, ''), 0);
    await settled();
    lease.letGo(20);
    expect(lastTwist()).toEqual(kRest);
    for (let now = 35; now < 1000; now += 15) lease.tick(now);
    expect(sent.slice(1).every(({ command }) => command.kind === 'twist' && command.linear[2] === 0)).toBe(true);
    expect(released).toEqual(['lease-1']);
    expect(state.state).toBe('none');
  });

  test('lets go by itself when the page falls silent', async () => {
    lease.drive(turn(kUp, ''), 0);
    await settled();
    for (let now = 15; now <= 450; now += 15) lease.tick(now);
    expect(lastTwist()).toEqual(kRest);
  });

  test('sends nothing of what was held while it was asked for', async () => {
    lease.drive(turn(kUp, ''), 0);
    lease.letGo(5);
    await settled();
    expect(sent).toHaveLength(1);
    expect(lastTwist()).toEqual(kRest);
  });

  test('that is refused is not asked for again until the hand has lifted', async () => {
    answer = () => Promise.reject(new Error('paddle is driven by viewer-abcd'));
    hold(0, 60);
    await settled();
    hold(75, 300);
    await settled();
    expect(asked).toHaveLength(1);
    expect(state).toEqual({ state: 'refused', target: 'paddle', text: 'paddle is driven by viewer-abcd' });
    lease.letGo(310);
    lease.drive(turn(kUp, ''), 320);
    expect(asked).toHaveLength(2);
  });

  test('that is refused is not asked for again because the page was stuck for a while', async () => {
    answer = () => Promise.reject(new Error('no'));
    lease.drive(turn(kUp, ''), 0);
    await settled();
    for (let now = 15; now <= 900; now += 15) lease.tick(now);
    lease.drive(turn(kUp, ''), 900);
    expect(asked).toHaveLength(1);
  });

  test('is taken over only when asked to', async () => {
    answer = () => Promise.reject(new Error('no'));
    lease.drive(turn(kUp, ''), 0);
    await settled();
    answer = () => Promise.resolve('mine');
    lease.takeover(10);
    await settled();
    expect(asked.at(-1)).toEqual({ target: 'paddle', takeover: true });
    expect(state.state).toBe('held');
  });

  test('that was taken away is not fought for', async () => {
    lease.drive(turn(kUp, ''), 0);
    await settled();
    lease.refused('viewer-abcd took over');
    const before = sent.length;
    hold(15, 300);
    await settled();
    expect(state.state).toBe('lost');
    expect(sent).toHaveLength(before);
    expect(asked).toHaveLength(1);
  });

  test('ends with the connection, and an answer that comes late is given back', async () => {
    lease.drive(turn(kUp, ''), 0);
    lease.disconnected();
    await settled();
    expect(state.state).toBe('none');
    expect(released).toEqual(['lease-1']);
    expect(sent).toHaveLength(0);
  });

  test('is asked for anew after a reconnect', async () => {
    lease.drive(turn(kUp, ''), 0);
    await settled();
    lease.disconnected();
    lease.drive(turn(kUp, ''), 100);
    await settled();
    expect(sent.at(-1)).toMatchObject({ leaseId: 'lease-2' });
  });
});

describe('the lease of a robot', () => {
  const kSetting: Setting = { kind: 'joints', joints: ['elbow'], values: [0.5] };

  test('is asked for by a slider, and what the slider wanted is sent when it comes', async () => {
    lease.set(kSetting, true, 0);
    lease.set({ ...kSetting, values: [0.6] }, false, 5);
    expect(sent).toHaveLength(0);
    await settled();
    expect(sent.map(({ command }) => command)).toEqual([kSetting, { ...kSetting, values: [0.6] }]);
  });

  test('is kept while the page asks, sends no twist, and is given back soon after', async () => {
    lease.set(kSetting, true, 0);
    await settled();
    for (let now = 15; now < 3000; now += 15) {
      if (now % 105 === 0) lease.set(kSetting, false, now);
      lease.tick(now);
    }
    expect(state.state).toBe('held');
    expect(sent.every(({ command }) => command.kind === 'joints')).toBe(true);
    for (let now = 3000; now < 4000; now += 15) lease.tick(now);
    expect(released).toEqual(['lease-1']);
  });

  test('that is refused is asked for again by a new gesture only', async () => {
    answer = () => Promise.reject(new Error('robot is driven by viewer-abcd'));
    lease.set(kSetting, true, 0);
    await settled();
    for (let now = 15; now < 300; now += 15) lease.set(kSetting, false, now);
    await settled();
    expect(asked).toHaveLength(1);
    lease.set(kSetting, true, 400);
    expect(asked).toHaveLength(2);
    await settled();
    expect(sent).toHaveLength(0);
  });

  test('says rest once when a slider follows a twist, and repeats the twist beside a gripper', async () => {
    lease.drive(turn(kUp, 'tool'), 0);
    await settled();
    lease.set({ kind: 'gripper', controller: 'hand', position: 1 }, true, 10);
    const before = sent.length;
    lease.drive(turn(kUp, 'tool'), 40);
    lease.tick(45);
    expect(sent).toHaveLength(before + 1);
    expect(sent.at(-1)!.command).toMatchObject({ kind: 'twist', controller: 'tool' });
    lease.letGo(50);
    lease.set(kSetting, true, 60);
    for (let now = 75; now < 300; now += 15) lease.tick(now);
    expect(sent.slice(-3).map(({ command }) => command.kind)).toEqual(['twist', 'twist', 'joints']);
    expect(sent.at(-2)!.command).toMatchObject(kRest);
  });

  test('leaves that of another robot alone; a hand drives one of them at a time', async () => {
    leases.drive('left', turn(kUp, 'tool'), 0);
    leases.of('right').set(kSetting, true, 5);
    await settled();
    leases.drive('right', turn(kUp, 'tool'), 30);
    await settled();
    const twists = sent.flatMap(({ target, command }) => (command.kind === 'twist' ? [[target, command.linear[2]]] : []));
    expect(twists).toEqual([['left', 0.2], ['left', 0], ['right', 0.2]]);
    expect(asked.map(({ target }) => target)).toEqual(['left', 'right']);
  });
});

describe('a pull', () => {
  const spring = (x: number): Motion => ({ kind: 'spring', link: '', point: [0, 0, 0.1], vertex: null, anchor: [x, 0, 0] });

  test('is repeated while the hand is on, and ends with a wrench of zero', async () => {
    lease.drive(spring(1), 0);
    await settled();
    lease.drive(spring(2), 20);
    expect(sent.map(({ command }) => command)).toEqual([spring(1), spring(2)]);
    lease.tick(60);
    expect(sent).toHaveLength(3);
    lease.letGo(70);
    expect(sent.at(-1)?.command).toEqual({ kind: 'wrench', link: '', force: [0, 0, 0] });
  });

  test('of a link ends the twist of its robot', async () => {
    lease.drive(turn(kUp, 'tool'), 0);
    await settled();
    lease.drive({ ...spring(1), link: 'hand' } as Motion, 20);
    expect(sent.map(({ command }) => command.kind)).toEqual(['twist', 'twist', 'spring']);
    expect(sent[1].command).toMatchObject(kRest);
  });
});

test('a gamepad of a robot with a profile ends with its controls at rest', async () => {
  lease.drive({ kind: 'gamepad', axes: [1], buttons: [0, 1] }, 0);
  await settled();
  lease.letGo(20);
  expect(sent.map(({ command }) => command)).toEqual([
    { kind: 'gamepad', axes: [1], buttons: [0, 1] },
    { kind: 'gamepad', axes: [], buttons: [] },
  ]);
});
