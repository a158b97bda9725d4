// The right to drive one body, and the commands sent under it. Hold to run: a hand that falls silent is a hand let go.
import type { LeaseInfo, TwistCommand } from './messages';

export interface LeasePort {
  acquire(target: string, takeover: boolean): Promise<string>; // the lease's id
  release(leaseId: string): void;
  command(leaseId: string, sequence: number, twist: TwistCommand): void;
  changed(lease: LeaseInfo): void;
}

const kHeartbeatMs = 30;
const kHandSilentMs = 400; // the page repeats itself far more often; past this it is stuck, and the body must rest
const kKeepMs = 700; // the lease is kept between two strokes of a key

export class LeaseHolder {
  private state: LeaseInfo['state'] = 'none';
  private target = '';
  private leaseId = '';
  private sequence = 0;
  private twist: TwistCommand = { linear: [0, 0, 0], angular: [0, 0, 0] };
  private held = false; // a hand is on the control, as far as is known
  private lifted = true; // it was off since it was last refused
  private heardAt = 0; // of the page
  private sentAt = -Infinity;
  private letGoAt = 0;
  private attempt = 0; // answers to earlier attempts are void

  constructor(private readonly port: LeasePort) {}

  // the hand is on the control
  drive(target: string, twist: TwistCommand, now: number): void {
    this.heardAt = now;
    if (this.state === 'held' && this.target !== target) this.giveBack();

    // after a refusal the hand must lift before it is asked again: two operators never fight by holding on
    const mayAsk = this.state === 'none' || (this.lifted && this.state !== 'acquiring');
    const afresh = !this.held;
    this.held = true;
    this.lifted = false;
    const changed = !sameTwist(twist, this.twist);
    this.twist = twist;
    if (this.state === 'held') {
      if (changed || afresh) this.send(now);
    } else if (mayAsk) {
      this.ask(target, false, now);
    }
  }

  // the hand is off
  letGo(now: number): void {
    this.lifted = true;
    this.rest(now);
  }

  takeover(target: string, now: number): void {
    if (this.state !== 'held' && this.state !== 'acquiring') this.ask(target || this.target, true, now);
  }

  // every few milliseconds
  tick(now: number): void {
    if (this.held && now - this.heardAt > kHandSilentMs) this.rest(now);
    if (this.state !== 'held') return;
    if (!this.held && now - this.letGoAt > kKeepMs) return this.giveBack();
    if (now - this.sentAt >= kHeartbeatMs) this.send(now);
  }

  // a command was not taken
  refused(reason: string): void {
    if (this.state !== 'held') return;
    this.port.release(this.leaseId);
    this.leaseId = '';
    this.set('lost', this.target, reason);
  }

  // the connection is gone, and with it every lease; commands of before are never repeated
  disconnected(): void {
    this.attempt += 1;
    this.leaseId = '';
    this.held = false;
    this.lifted = true;
    this.set('none', '', '');
  }

  private rest(now: number): void {
    if (!this.held) return;
    this.held = false;
    this.letGoAt = now;
    this.twist = { linear: [0, 0, 0], angular: [0, 0, 0] };
    if (this.state === 'held') this.send(now);
  }

  private ask(target: string, takeover: boolean, now: number): void {
    const attempt = ++this.attempt;
    this.set('acquiring', target, '');
    this.port.acquire(target, takeover).then(
      (leaseId) => {
        if (attempt !== this.attempt) return this.port.release(leaseId);
        this.leaseId = leaseId;
        this.sequence = 0;
        if (!this.held) this.letGoAt = now;
        this.set('held', target, '');
        this.send(now);
      },
      (error: Error) => {
        if (attempt === this.attempt) this.set('refused', target, error.message);
      },
    );
  }

  private giveBack(): void {
    this.port.release(this.leaseId);
    this.leaseId = '';
    this.set('none', '', '');
  }

  private send(now: number): void {
    this.sentAt = now;
    this.port.command(this.leaseId, ++this.sequence, this.twist);
  }

  private set(state: LeaseInfo['state'], target: string, text: string): void {
    this.state = state;
    this.target = target;
    this.port.changed({ state, target, text });
  }
}

function sameTwist(a: TwistCommand, b: TwistCommand): boolean {
  return a.linear.every((x, i) => x === b.linear[i]) && a.angular.every((x, i) => x === b.angular[i]);
}
