// The lease on one body or robot, and the commands sent under it. Driving is hold-to-run: when the page stops repeating
// drive(), the motion stops as if the control had been released.
import type { Command, LeaseInfo, Motion, Setting } from './messages';

export interface LeasePort {
  acquire(target: string, takeover: boolean): Promise<string>; // resolves to the lease id
  release(leaseId: string): void;
  command(target: string, leaseId: string, command: Command): void;
  changed(lease: LeaseInfo): void;
}

const kHeartbeatMs = 30;
const kHandSilentMs = 400; // a page that has not repeated drive() for this long is stuck, and the body is brought to rest
const kKeepMs = 700; // an unused lease is kept this long, e.g. between two key presses

export class LeaseHolder {
  private state: LeaseInfo['state'] = 'none';
  private leaseId = '';
  private motion: Motion | null = null; // the last command, if it was a motion, which is repeated
  private held = false; // the user is driving
  private lifted = true; // the control was released since its last use
  private waiting: Setting[] = []; // settings to send when the lease is granted
  private heardAt = 0; // time of the last drive()
  private sentAt = -Infinity;
  private usedAt = 0; // time of the last setting, or of the end of driving
  private attempt = 0; // replies to earlier attempts are ignored

  constructor(
    readonly target: string,
    private readonly port: LeasePort,
  ) {}

  // The user is driving; call repeatedly.
  drive(motion: Motion, now: number): void {
    this.heardAt = now;
    const other = this.motion !== null && !sameControl(motion, this.motion);
    const changed = !this.held || other || !sameMotion(motion, this.motion);
    if (this.held && other) this.stopMotion(now);
    this.held = true;
    this.motion = motion;
    if (this.state === 'held') {
      if (changed) this.sendMotion(now);
    } else {
      this.askIfAllowed(now);
    }
    this.lifted = false;
  }

  // Sends a goal for joints or a gripper. `fresh`: a new gesture of the user, not the repetition of an earlier goal.
  set(setting: Setting, fresh: boolean, now: number): void {
    if (fresh) this.lifted = true;
    this.usedAt = now;
    if (this.state === 'held') {
      if (!this.held) this.stopMotion(now);
      this.port.command(this.target, this.leaseId, setting);
    } else {
      if (this.state === 'acquiring' || this.mayAsk()) this.waiting = [...this.waiting.slice(-7), setting];
      this.askIfAllowed(now);
    }
    this.lifted = false;
  }

  get driven(): boolean {
    return this.held;
  }

  // The user released the control.
  letGo(now: number): void {
    this.lifted = true;
    this.rest(now);
  }

  release(): void {
    if (this.state === 'held') this.giveBack();
  }

  takeover(now: number): void {
    if (this.state !== 'held' && this.state !== 'acquiring') this.ask(true, now);
  }

  // Call every few milliseconds.
  tick(now: number): void {
    if (this.held && now - this.heardAt > kHandSilentMs) this.rest(now);
    if (this.state !== 'held') return;
    if (!this.held && now - this.usedAt > kKeepMs) return this.giveBack();
    if (this.motion && now - this.sentAt >= kHeartbeatMs) this.sendMotion(now);
  }

  // The server refused a command.
  refused(reason: string): void {
    if (this.state !== 'held') return;
    this.port.release(this.leaseId);
    this.forget();
    this.change('lost', reason);
  }

  // The connection was lost, and with it every lease. Earlier commands are never repeated.
  disconnected(): void {
    this.attempt += 1;
    this.forget();
    this.held = false;
    this.lifted = true;
    this.change('none', '');
  }

  private rest(now: number): void {
    if (!this.held) return;
    this.held = false;
    this.usedAt = now;
    this.motion = this.motion && atRest(this.motion);
    if (this.state === 'held') this.sendMotion(now);
  }

  // Sends the end of the motion once, without repetition, because the next command has another purpose.
  private stopMotion(now: number): void {
    this.motion = this.motion && atRest(this.motion);
    this.sendMotion(now);
    this.motion = null;
  }

  // After a refusal the user must release the control before the lease is requested again, so that two operators who hold
  // their controls do not fight over it.
  private mayAsk(): boolean {
    return this.state === 'none' || (this.lifted && this.state !== 'acquiring');
  }

  private askIfAllowed(now: number): void {
    if (this.state !== 'held' && this.mayAsk()) this.ask(false, now);
  }

  private ask(takeover: boolean, now: number): void {
    const attempt = ++this.attempt;
    this.change('acquiring', '');
    this.port.acquire(this.target, takeover).then(
      (leaseId) => {
        if (attempt !== this.attempt) return this.port.release(leaseId);
        this.leaseId = leaseId;
        if (!this.held) this.usedAt = Math.max(this.usedAt, now);
        this.change('held', '');
        for (const setting of this.waiting.splice(0)) this.port.command(this.target, leaseId, setting);
        this.sendMotion(now);
      },
      (error: Error) => {
        if (attempt !== this.attempt) return;
        this.forget();
        this.change('refused', error.message);
      },
    );
  }

  private giveBack(): void {
    this.port.release(this.leaseId);
    this.forget();
    this.change('none', '');
  }

  private forget(): void {
    this.leaseId = '';
    this.waiting = [];
    this.motion = null;
  }

  private sendMotion(now: number): void {
    if (!this.motion) return;
    this.sentAt = now;
    this.port.command(this.target, this.leaseId, this.motion);
  }

  private change(state: LeaseInfo['state'], text: string): void {
    if (state === 'none' && this.state === 'none') return;
    this.state = state;
    this.port.changed({ state, target: this.target, text });
  }
}

// The leases of one page, one per body or robot that it drives.
export class Leases {
  private readonly holders = new Map<string, LeaseHolder>();

  constructor(private readonly port: LeasePort) {}

  of(target: string): LeaseHolder {
    let holder = this.holders.get(target);
    if (!holder) {
      holder = new LeaseHolder(target, this.port);
      this.holders.set(target, holder);
    }
    return holder;
  }

  // Drives one target, and releases any other driven target.
  drive(target: string, motion: Motion, now: number): void {
    for (const holder of this.holders.values()) if (holder.target !== target && holder.driven) holder.letGo(now);
    this.of(target).drive(motion, now);
  }

  letGo(now: number): void {
    for (const holder of this.holders.values()) holder.letGo(now);
  }

  tick(now: number): void {
    for (const holder of this.holders.values()) holder.tick(now);
  }

  disconnected(): void {
    for (const holder of this.holders.values()) holder.disconnected();
    this.holders.clear();
  }
}

// The command that ends a motion.
function atRest(motion: Motion): Motion {
  switch (motion.kind) {
    case 'twist':
      return { ...motion, linear: [0, 0, 0], angular: [0, 0, 0] };
    case 'gamepad':
      return { kind: 'gamepad', axes: [], buttons: [] };
    case 'spring':
    case 'wrench':
      return { kind: 'wrench', link: motion.link, force: [0, 0, 0] };
  }
}

function sameMotion(a: Motion, b: Motion | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

// True if one motion replaces the other on the server.
function sameControl(a: Motion, b: Motion): boolean {
  const what = (m: Motion) => (m.kind === 'twist' ? m.controller : m.kind === 'gamepad' ? '\npad' : `\npull ${m.link}`);
  return what(a) === what(b);
}
