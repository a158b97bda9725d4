import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseHolder } from '../src/link/lease';
import type { LeaseInfo, TwistCommand } from '../src/link/messages';

const kUp: TwistCommand = { linear: [0, 0, 0.2], angular: [0, 0, 0] };
const kRest: TwistCommand = { linear: [0, 0, 0], angular: [0, 0, 0] };

let asked: { target: string; takeover: boolean }[];
let released: string[];
let sent: { leaseId: string; sequence: number; twist: TwistCommand }[];
let state: LeaseInfo;
let answer: () => Promise<string>;
let lease: LeaseHolder;

beforeEach(() => {
  [asked, released, sent] = [[], [], []];
  state = { state: 'none', target: '', text: '' };
  let number = 0;
  answer = () => Promise.resolve(`lease-${++number}`);
  lease = new LeaseHolder({
    acquire: (target, takeover) => {
      asked.push({ target, takeover });
      return answer();
    },
    release: (id) => released.push(id),
    command: (leaseId, sequence, twist) => sent.push({ leaseId, sequence, twist }),
    changed: (info) => (state = info),
  });
});

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

// drives from `from` to `to`, as a page does that is awake
function hold(from: number, to: number, twist = kUp): void {
  for (let now = from; now <= to; now += 15) {
    lease.drive('paddle', twist, now);
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

  test('sends on change and at least every 45 ms, with numbers that rise', async () => {
    lease.drive('paddle', kUp, 0);
    await settled();
    hold(15, 315);
    expect(sent.length).toBeGreaterThanOrEqual(7);
    sent.forEach(({ sequence }, i) => expect(sequence).toBe(i + 1));
    const before = sent.length;
    lease.drive('paddle', { ...kUp, linear: [0.1, 0, 0] }, 316);
    expect(sent.length).toBe(before + 1);
  });

  test('sends rest the moment the hand lets go, and is given back soon after', async () => {
    lease.drive('paddle', kUp, 0);
    await settled();
    lease.letGo(20);
    expect(sent.at(-1)!.twist).toEqual(kRest);
    for (let now = 35; now < 1000; now += 15) lease.tick(now);
    expect(sent.every(({ twist }, i) => i === 0 || twist.linear[2] === 0)).toBe(true);
    expect(released).toEqual(['lease-1']);
    expect(state.state).toBe('none');
  });

  test('lets go by itself when the page falls silent', async () => {
    lease.drive('paddle', kUp, 0);
    await settled();
    for (let now = 15; now <= 450; now += 15) lease.tick(now);
    expect(sent.at(-1)!.twist).toEqual(kRest);
  });

  test('sends nothing of what was held while it was asked for', async () => {
    lease.drive('paddle', kUp, 0);
    lease.letGo(5);
    await settled();
    expect(sent.map(({ twist }) => twist)).toEqual([kRest]);
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
    lease.drive('paddle', kUp, 320);
    expect(asked).toHaveLength(2);
  });

  test('that is refused is not asked for again because the page was stuck for a while', async () => {
    answer = () => Promise.reject(new Error('no'));
    lease.drive('paddle', kUp, 0);
    await settled();
    for (let now = 15; now <= 900; now += 15) lease.tick(now);
    lease.drive('paddle', kUp, 900);
    expect(asked).toHaveLength(1);
  });

  test('is taken over only when asked to', async () => {
    answer = () => Promise.reject(new Error('no'));
    lease.drive('paddle', kUp, 0);
    await settled();
    answer = () => Promise.resolve('mine');
    lease.takeover('', 10);
    await settled();
    expect(asked.at(-1)).toEqual({ target: 'paddle', takeover: true });
    expect(state.state).toBe('held');
  });

  test('that was taken away is not fought for', async () => {
    lease.drive('paddle', kUp, 0);
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
    lease.drive('paddle', kUp, 0);
    lease.disconnected();
    await settled();
    expect(state.state).toBe('none');
    expect(released).toEqual(['lease-1']);
    expect(sent).toHaveLength(0);
  });

  test('starts its numbers anew', async () => {
    lease.drive('paddle', kUp, 0);
    await settled();
    lease.disconnected();
    lease.drive('paddle', kUp, 100);
    await settled();
    expect(sent.at(-1)).toMatchObject({ leaseId: 'lease-2', sequence: 1 });
  });
});
