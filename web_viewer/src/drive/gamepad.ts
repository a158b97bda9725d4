// Driving by gamepad, standard mapping: left stick moves in the horizontal plane, triggers down and up, right stick yaw and
// pitch, shoulders roll, B stops the world, X opens and closes the gripper, Y switches the target. A stick within its dead
// zone counts as released.
import type { PadCommand } from '../link/messages';
import { kNoMotion, type Intent } from './intent';

export interface PadState {
  connected: boolean;
  mapping: string;
  id: string;
  axes: readonly number[];
  buttons: readonly { pressed: boolean; value: number }[];
}

const kDeadZone = 0.15;
const kTriggerDeadZone = 0.05;

// Action on the press of each button, by its index in the standard layout.
export type PadActions = Record<number, () => void>;

export class Gamepads {
  name = ''; // name of the gamepad in use
  warning = ''; // reason for which a connected gamepad cannot be used
  raw: PadCommand | null = null; // its state while a control other than the actions is used
  private readonly down = new Set<number>();

  constructor(
    private readonly list: () => readonly (PadState | null)[],
    private readonly actions: PadActions,
  ) {}

  read(): Intent | null {
    this.name = '';
    this.warning = '';
    this.raw = null;
    const pads = this.list().filter((pad): pad is PadState => pad !== null && pad.connected);
    const pad = pads.find((candidate) => candidate.mapping === 'standard');
    if (!pad) {
      if (pads.length > 0) this.warning = `${pads[0].id}: not used, because it does not have the standard gamepad layout`;
      this.down.clear();
      return null;
    }
    this.name = pad.id.replace(/\s*\(.*\)\s*/, '') || 'Gamepad';

    for (const [index, action] of Object.entries(this.actions)) {
      const pressed = pad.buttons[Number(index)]?.pressed ?? false;
      if (pressed && !this.down.has(Number(index))) action();
      if (pressed) this.down.add(Number(index));
      else this.down.delete(Number(index));
    }

    const axes = pad.axes.slice(0, 4).map((x) => (Number.isFinite(x) ? x : 0));
    const buttons = pad.buttons.slice(0, 17).map(({ value }, i) => (i in this.actions ? 0 : value));
    const used = axes.some((x) => Math.abs(x) > kDeadZone) || buttons.some((x) => x > kTriggerDeadZone);
    this.raw = used ? { axes, buttons } : null;

    const [right, back] = outsideDeadZone(pad.axes[0] ?? 0, pad.axes[1] ?? 0);
    const [turn, tilt] = outsideDeadZone(pad.axes[2] ?? 0, pad.axes[3] ?? 0);
    const intent: Intent = {
      ...kNoMotion,
      right,
      forward: -back || 0,
      up: trigger(pad, 7) - trigger(pad, 6),
      yaw: -turn || 0,
      pitch: tilt,
      roll: button(pad, 5) - button(pad, 4),
      fine: (pad.buttons[10]?.pressed ?? false) || (pad.buttons[0]?.pressed ?? false),
    };
    const moves = intent.right || intent.forward || intent.up || intent.yaw || intent.pitch || intent.roll;
    return moves ? intent : null;
  }
}

// Applies a circular dead zone, and rescales the rest to the full range.
export function outsideDeadZone(x: number, y: number): [number, number] {
  const length = Math.hypot(x, y);
  if (!Number.isFinite(length) || length <= kDeadZone) return [0, 0];
  const scale = Math.min(1, (length - kDeadZone) / (1 - kDeadZone)) / length;
  return [x * scale, y * scale];
}

function trigger(pad: PadState, index: number): number {
  const value = pad.buttons[index]?.value ?? 0;
  return value > kTriggerDeadZone ? Math.min(1, value) : 0;
}

function button(pad: PadState, index: number): number {
  return pad.buttons[index]?.pressed ? 1 : 0;
}
