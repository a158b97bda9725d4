// The bar at the bottom: the world's clock, switches of the view, and the stop button that every viewer has.
import type { Call, FrameInfo } from '../link/messages';
import { element } from './dom';

const kIcons = {
  pause: '<svg viewBox="0 0 20 20"><rect x="4" y="3" width="4.4" height="14" rx="1.3"/><rect x="11.6" y="3" width="4.4" height="14" rx="1.3"/></svg>',
  run: '<svg viewBox="0 0 20 20"><path d="M5.5 3.6v12.8c0 .8.9 1.3 1.6.8l9.6-6.4a1 1 0 0 0 0-1.6L7.100 2.800a1 1 0 0 0-1.600.800z"/></svg>',
  step: '<svg viewBox="0 0 20 20"><path d="M3.500 4v12c0 .8.9 1.200 1.500.8l8.500-6a1 1 0 0 0 0-1.600L5 3.200c-.600-.400-1.500 0-1.500.8z"/><rect x="14.600" y="3" width="2.600" height="14" rx="1"/></svg>',
  reset: '<svg viewBox="0 0 20 20"><path d="M10 3a7 7 0 1 1-6.700 5l1.900.600A5 5 0 1 0 10 5v2.600L5.500 4 10 .400z"/></svg>',
  arrows: '<svg viewBox="0 0 20 20"><path d="M9 17V7.500H5.800L10 2l4.200 5.500H11V17zM3 17.500h14V19H3z"/></svg>',
  surface: '<svg viewBox="0 0 20 20"><path d="M10 1.600c3 3.800 5.800 7.200 5.800 10.600a5.800 5.800 0 0 1-11.600 0C4.200 8.800 7 5.400 10 1.600zm-3.300 10.800a3.400 3.400 0 0 0 3.300 3.500v-1.500a1.900 1.900 0 0 1-1.800-2z"/></svg>',
  home: '<svg viewBox="0 0 20 20"><path d="M3 3h5v2H5v3H3zm9 0h5v5h-2V5h-3zM3 12h2v3h3v2H3zm12 0h2v5h-5v-2h3zM7.500 7.500h5v5h-5z"/></svg>',
};

export interface ClockBarPort {
  call(call: Call): void;
  showArrows(on: boolean): void;
  showSurface(on: boolean): void;
  resetView(): void;
}

export class ClockBar {
  private readonly run = element<HTMLButtonElement>('run');
  private readonly stop = element<HTMLButtonElement>('stop');
  private readonly factor = element<HTMLSelectElement>('factor');
  private readonly surface = element<HTMLButtonElement>('surface');
  private readonly arrows = element<HTMLButtonElement>('arrows');
  private readonly help = element<HTMLDialogElement>('help');
  private paused = false;
  private stopped = false;
  private enabled = false;
  private watchesOnly = false;
  private runShows = '';

  constructor(private readonly port: ClockBarPort) {
    element('step').innerHTML = kIcons.step;
    element('reset').innerHTML = kIcons.reset;
    element('home').innerHTML = kIcons.home;
    this.arrows.innerHTML = kIcons.arrows;
    this.surface.innerHTML = kIcons.surface;
    this.showRun();

    this.onClick('run', () => this.toggleRun());
    this.onClick('step', () => this.oneStep());
    this.onClick('reset', () => port.call({ op: 'reset' }));
    this.onClick('home', () => port.resetView());
    this.onClick('arrows', () => this.toggleArrows());
    this.onClick('surface', () => this.toggleSurface());
    this.onClick('help-open', () => this.help.showModal());
    this.onClick('stop', () => port.call({ op: this.stopped ? 'resume' : 'stop' }));
    this.factor.addEventListener('change', () => {
      // in a paused world the choice takes effect with Run
      if (!this.paused) port.call({ op: 'run', factor: Number(this.factor.value) });
      this.factor.blur();
    });
    window.addEventListener('keydown', (event) => this.key(event));
  }

  show(frame: FrameInfo): void {
    this.paused = frame.clock.mode === 'paused';
    this.stopped = frame.stopped;
    this.enableStop();
    this.showRun();
    this.stop.classList.toggle('latched', frame.stopped);
    const word = frame.stopped ? 'RESUME' : 'STOP';
    if (this.stop.textContent !== word) this.stop.textContent = word;
    if (this.paused || document.activeElement === this.factor) return;

    // show the clock's speed even if another client chose one that is not in the list
    const value = String(frame.clock.mode === 'freeRun' ? Infinity : frame.clock.factor);
    if (this.factor.value === value) return;
    if (![...this.factor.options].some((option) => option.value === value)) {
      this.factor.add(new Option(`${Number(Number(value).toPrecision(3))}×`, value));
    }
    this.factor.value = value;
  }

  // A user who may only watch may stop the world, but not resume it.
  enable(on: boolean, watchesOnly: boolean): void {
    this.enabled = on;
    this.watchesOnly = watchesOnly;
    for (const id of ['run', 'step', 'reset', 'factor']) element<HTMLButtonElement>(id).disabled = !on || watchesOnly;
    this.enableStop();
  }

  private enableStop(): void {
    this.stop.disabled = !this.enabled || (this.watchesOnly && this.stopped);
  }

  private key(event: KeyboardEvent): void {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const actions: Record<string, () => void> = {
      Space: () => this.port.call({ op: 'stop' }),
      KeyP: () => !this.watchesOnly && this.toggleRun(),
      KeyN: () => !this.watchesOnly && this.oneStep(),
      KeyC: () => this.toggleArrows(),
      KeyB: () => !this.surface.hidden && this.toggleSurface(),
      KeyV: () => this.port.resetView(),
      KeyH: () => this.help.showModal(),
    };
    const action = actions[event.code];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private toggleRun(): void {
    this.port.call(this.paused ? { op: 'run', factor: Number(this.factor.value) } : { op: 'pause' });
  }

  private oneStep(): void {
    if (!this.paused) this.port.call({ op: 'pause' });
    this.port.call({ op: 'step', steps: 1 });
  }

  // Shows the button for the surface of particles.
  offerSurface(on: boolean): void {
    this.surface.hidden = !on;
  }

  private toggleArrows(): void {
    this.port.showArrows(toggle(this.arrows));
  }

  private toggleSurface(): void {
    this.port.showSurface(toggle(this.surface));
  }

  private showRun(): void {
    const icon = this.paused ? 'run' : 'pause';
    if (this.runShows === icon) return;
    this.runShows = icon;
    this.run.innerHTML = kIcons[icon];
    this.run.title = this.paused ? 'Run (P)' : 'Pause (P)';
    this.run.setAttribute('aria-label', this.paused ? 'Run' : 'Pause');
  }

  // Adds a click handler that drops the focus, so that Space stops the world instead of pressing the button again.
  private onClick(id: string, action: () => void): void {
    const button = element<HTMLButtonElement>(id);
    button.addEventListener('click', () => {
      button.blur();
      action();
    });
  }
}

// Toggles a button. Returns true if it is pressed now.
function toggle(button: HTMLButtonElement): boolean {
  const on = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', String(on));
  return on;
}
