// The panel of measurements: state of the world, driving clients, state of the link.
import type { ParticleInfo } from '../scene/bodies';
import type { ForceInfo, FrameInfo, LeaseInfo, LinkStats, MeasureId, ReportInfo } from '../link/messages';
import { element, setHidden, setText } from './dom';
import { quantity } from './legend';
import { Plot } from './plot';
import { bytesPerSecond, forces, milliseconds, newtons } from './units';

export class Panel {
  private readonly plot = new Plot(element<HTMLCanvasElement>('plot'), 'N');
  private readonly root = element('panel');
  private readonly group = element<HTMLSelectElement>('group');
  private readonly choice = element<HTMLSelectElement>('selected');
  private force = 0; // of the latest frame
  private shownForce = 0;
  private epoch = -1;
  private drivers = '';

  constructor(
    onSelect: (body: string) => void,
    onDriven: (index: number) => void,
    onTakeover: () => void,
    onSpeed: (speed: number) => void,
    onGroup: (group: string) => void,
    onPriority: (priority: number) => void,
  ) {
    this.group.addEventListener('change', () => {
      onGroup(this.group.value);
      this.group.blur();
    });
    const priority = element<HTMLInputElement>('priority');
    priority.addEventListener('change', () => {
      priority.value = String(clampPriority(Number(priority.value)));
      onPriority(Number(priority.value));
      priority.blur();
    });
    const driven = element<HTMLSelectElement>('driven');
    driven.addEventListener('change', () => {
      onDriven(driven.selectedIndex);
      driven.blur();
    });
    const toggle = element<HTMLButtonElement>('panel-toggle');
    toggle.addEventListener('click', () => {
      const open = this.root.classList.toggle('open');
      toggle.setAttribute('aria-expanded', String(open));
    });
    this.choice.addEventListener('change', () => {
      onSelect(this.choice.value);
      this.choice.blur();
    });
    element('takeover').addEventListener('click', onTakeover);
    const speed = element<HTMLInputElement>('speed');
    speed.addEventListener('input', () => {
      setText('speed-value', `${Number(speed.value).toFixed(2)} m/s`);
      onSpeed(Number(speed.value));
    });
    speed.addEventListener('change', () => speed.blur());
  }

  setBodies(names: string[], selected: string): void {
    this.choice.replaceChildren(...names.map((name) => new Option(name, name, false, name === selected)));
    this.plot.clear();
    this.force = this.shownForce = 0;
  }

  // Lists the targets that can be driven.
  setDriven(labels: string[], index: number): void {
    const choice = element<HTMLSelectElement>('driven');
    choice.replaceChildren(...labels.map((label) => new Option(label)));
    choice.selectedIndex = index;
    setHidden('driven', labels.length < 2);
  }

  // Lists the actuator groups of the driven robot, one of which may be driven alone; '': the whole robot.
  setGroups(names: string[], chosen: string): void {
    this.group.replaceChildren(new Option('whole robot', ''), ...names.map((name) => new Option(name, name)));
    this.group.value = chosen;
    setHidden('group', names.length === 0);
  }

  select(body: string): void {
    if (this.choice.value !== body) this.choice.value = body;
    this.plot.clear();
    this.shownForce = 0;
  }

  showFrame(frame: FrameInfo, selected: string, me: string): void {
    if (frame.epoch !== this.epoch) this.plot.clear();
    this.epoch = frame.epoch;
    this.showForce(frame.time, forceOn(frame.forces, selected));

    const { report, clock } = frame;
    const running = clock.mode !== 'paused';
    setText('rate', report && running ? `${report.realTimeRate.toFixed(2)}×` : 'paused');
    setText('step-time', report ? milliseconds(1000 * report.stepSeconds) : '–');
    setText('contacts', report ? String(report.contacts) : '–');
    setText('time', frame.time < 1000 ? `${frame.time.toFixed(2)} s` : `${frame.time.toFixed(0)} s`);
    const behind = running && clock.mode === 'realTime' && report !== null && report.realTimeRate < 0.9 * clock.factor;
    const trouble = report ? solverTrouble(report) : '';
    setText('solver', trouble);
    setHidden('solver', !trouble);
    const compromises = report ? describeCompromises(report) : '';
    setText('compromises', compromises);
    setHidden('compromises', !compromises);
    element('rate').parentElement?.classList.toggle('warn', behind && frame.time > 1);
    setText('grip-summary', `${newtons(this.shownForce)} · ${report && running ? `${report.realTimeRate.toFixed(2)}×` : 'paused'}`);
    this.showDrivers(frame, me);
  }

  // Call every animation frame. Smooths the displayed force so that it is readable; the plot is not smoothed.
  tick(): void {
    const away = this.force - this.shownForce;
    this.shownForce = Math.abs(away) < 0.005 ? this.force : this.shownForce + 0.3 * away;
    setText('force', newtons(this.shownForce));
  }

  showLease(lease: LeaseInfo, stopped: boolean, means: Means): void {
    const { what } = means;
    const tag = element('lease');
    const words = { none: 'idle', acquiring: 'requesting …', held: 'you are driving', refused: 'refused', lost: 'lost' };
    tag.dataset.state = lease.state;
    setText('lease', words[lease.state]);
    const stopText = 'The world is stopped. Resume it to drive.';
    setText('lease-text', stopped ? stopText : lease.text || (lease.state === 'held' ? `Moving “${what}”.` : idleHint(means)));
    setHidden('speed-row', !what);
    setHidden('takeover', !(lease.state === 'refused' || lease.state === 'lost') || stopped);
  }

  // Shows that the user may only watch.
  showWatching(): void {
    element('lease').dataset.state = 'none';
    setText('lease', 'watching');
    setText('lease-text', 'Your token has the role viewer: you may watch this world, and stop it in an emergency.');
    for (const id of ['speed-row', 'takeover', 'driven']) setHidden(id, true);
  }

  showPad(name: string, warning: string): void {
    const hint = document.hasFocus() ? '' : ' (click the page to use it)';
    setText('pad', warning || (name ? `Gamepad: ${name}${hint}` : ''));
  }

  // Shows the clicked particle; null: none.
  showParticle(particle: ParticleInfo | null): void {
    setHidden('particle', particle === null);
    if (particle) setText('particle', particleText(particle));
  }

  showStats(stats: LinkStats, live: boolean): void {
    const trip = stats.roundTripOf === 'nothing' || !live ? '–' : milliseconds(stats.roundTripMs);
    setText('round-trip', stats.roundTripOf === 'command' || trip === '–' ? trip : `${trip} (idle)`);
    setText('ack-lag', live ? milliseconds(stats.ackLagMs) : '–');
    setText('frames', `${stats.framesPerSecond.toFixed(0)} in, ${stats.drawnPerSecond.toFixed(0)} drawn /s`);
    setText('bandwidth', bytesPerSecond(stats.bytesPerSecond));
  }

  private showForce(time: number, parts: number[]): void {
    const size = Math.hypot(...parts);
    this.plot.add(time, size);
    this.plot.draw();

    this.force = size;
    setText('force-parts', forces(parts));
  }

  private showDrivers(frame: FrameInfo, me: string): void {
    const key = frame.drivers.map(({ target, client, priority }) => `${target}\n${client}\n${priority}`).join('\n\n');
    if (key === this.drivers) return;
    this.drivers = key;
    element('drivers').replaceChildren(
      ...frame.drivers.map(({ target, client, priority }) => {
        const entry = document.createElement('li');
        entry.classList.toggle('me', client === me);
        const who = client === me ? 'You' : client || 'someone';
        entry.textContent = `${who} → ${target || 'a body'}${priority ? ` (priority ${priority})` : ''}`;
        return entry;
      }),
    );
  }
}

export function particleText({ body, number, position, value, measure, unit }: ParticleInfo): string {
  const place = position.map((x) => x.toFixed(4)).join(', ');
  const field = measure ? `, ${quantity(measure as MeasureId, value, unit)}` : '';
  return `Particle ${number} of “${body}”: (${place}) m${field}`;
}

// Ways in which the user can move bodies of a world.
export interface Means {
  what: string; // label of the driven target; empty: there is none
  grip: boolean; // it has a gripper
  sliders: boolean; // some joint has an actuator
  pull: boolean; // some body can be pulled
}

// Explains how to move something, while the user drives nothing.
export function idleHint({ what, grip, sliders, pull }: Means): string {
  if (what) return `Hold a key or a stick to move “${what}”, or drag it.${grip ? ' G opens and closes its gripper.' : ''}`;
  if (sliders && pull) return 'Move joints with their sliders, or hold Ctrl and drag a body to pull it.';
  if (sliders) return 'Move joints with their sliders.';
  return pull ? 'Hold Ctrl and drag a body to pull it.' : 'Nothing here can be moved.';
}

// The nearest valid priority of a lease.
export function clampPriority(priority: number): number {
  return Number.isFinite(priority) ? Math.min(100, Math.max(0, Math.round(priority))) : 0;
}

// Describes steps that did not converge; empty while all steps have converged.
export function solverTrouble(report: ReportInfo): string {
  const count = report.stepsNotConverged;
  if (count === 0) return '';
  const before = count === 1 ? '1 step' : `${count} steps`;
  if (report.converged) return `${before} did not converge.`;
  const what = report.stalled ? 'stalled' : 'did not converge';
  const why = report.stalled || !report.reason ? '' : ` (${report.reason.toLowerCase().replaceAll('_', ' ')})`;
  return `This step ${what}${why}: residual ${report.residual.toExponential(1)} after ${report.iterations} iterations (${before} so far).`;
}

// Lists how often steps relaxed, clamped or truncated something, by kind; empty if never.
export function describeCompromises(report: ReportInfo): string {
  const kinds = [...report.compromises].sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = kinds.map(([kind, count]) => `${kind.replaceAll('_', ' ')} ${count}×`);
  return parts.length ? `So far: ${parts.join(', ')}.` : '';
}

// Returns the contact force on a body, or on all links of a robot [N].
export function forceOn(forces: ForceInfo[], name: string): number[] {
  const parts = [0, 0, 0];
  for (const { body, force } of forces) {
    if (body !== name && !body.startsWith(`${name}/`)) continue;
    for (let k = 0; k < 3; ++k) parts[k] += force[k];
  }
  return parts;
}
