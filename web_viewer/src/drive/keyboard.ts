// Driving by keyboard. Keys are identified by position, not by letter, so that they work alike in all layouts.
import { kNoMotion, type Intent } from './intent';

type Axis = Exclude<keyof Intent, 'fine'>;

const kKeys: Record<string, [Axis, number]> = {
  KeyW: ['forward', 1],
  ArrowUp: ['forward', 1],
  KeyS: ['forward', -1],
  ArrowDown: ['forward', -1],
  KeyD: ['right', 1],
  ArrowRight: ['right', 1],
  KeyA: ['right', -1],
  ArrowLeft: ['right', -1],
  KeyE: ['up', 1],
  KeyR: ['up', 1],
  KeyQ: ['up', -1],
  KeyF: ['up', -1],
  KeyJ: ['yaw', 1],
  KeyL: ['yaw', -1],
  KeyI: ['pitch', -1],
  KeyK: ['pitch', 1],
  KeyU: ['roll', -1],
  KeyO: ['roll', 1],
};

export class Keyboard {
  private readonly down = new Set<string>();
  private fine = false;

  // Returns true when the key is used for driving.
  press(event: Pick<KeyboardEvent, 'code' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>): boolean {
    this.fine = event.shiftKey;
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.code in kKeys)) return false;
    this.down.add(event.code);
    return true;
  }

  lift(event: Pick<KeyboardEvent, 'code' | 'shiftKey'>): void {
    this.fine = event.shiftKey;
    this.down.delete(event.code);
  }

  letGo(): void {
    this.down.clear();
    this.fine = false;
  }

  read(): Intent | null {
    if (this.down.size === 0) return null;
    const intent = { ...kNoMotion, fine: this.fine };
    for (const code of this.down) {
      const [axis, sign] = kKeys[code];
      intent[axis] = Math.max(-1, Math.min(1, intent[axis] + sign));
    }
    return intent;
  }
}
