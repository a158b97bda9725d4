import { describe, expect, test } from 'vitest';
import { Gamepads, outsideDeadZone, type PadState } from '../src/drive/gamepad';
import { intentTwist, joinIntents, kNoMotion } from '../src/drive/intent';
import { Keyboard } from '../src/drive/keyboard';

const kSpeed = { linear: 0.25, angular: 1.5 };
const key = (code: string, shiftKey = false) => ({ code, shiftKey, ctrlKey: false, metaKey: false, altKey: false });

function pad(changes: Partial<PadState> = {}): PadState {
  const buttons = Array.from({ length: 17 }, () => ({ pressed: false, value: 0 }));
  return { connected: true, mapping: 'standard', id: 'Test pad (Vendor: 1)', axes: [0, 0, 0, 0], buttons, ...changes };
}

describe('a twist', () => {
  test('follows the eye: forward is where the camera looks', () => {
    const east = intentTwist({ ...kNoMotion, forward: 1 }, 0, kSpeed).linear;
    expect(east).toEqual([0.25, 0, 0]);
    const north = intentTwist({ ...kNoMotion, right: 1 }, Math.PI / 2, kSpeed).linear;
    expect(north[0]).toBeCloseTo(0.25, 12);
    expect(north[1]).toBeCloseTo(0, 12);
  });

  test('is no faster along a diagonal', () => {
    const { linear } = intentTwist({ ...kNoMotion, right: 1, forward: 1, up: 1 }, 0.3, kSpeed);
    expect(Math.hypot(...linear)).toBeCloseTo(0.25, 12);
  });

  test('is a quarter with the fine key', () => {
    expect(intentTwist({ ...kNoMotion, up: -1, fine: true }, 1, kSpeed).linear[2]).toBeCloseTo(-0.0625, 12);
  });

  test('comes from no hand when none is on', () => {
    expect(joinIntents([null, null])).toBeNull();
    expect(joinIntents([null, { ...kNoMotion, up: 1 }])).toMatchObject({ up: 1, right: 0 });
  });
});

describe('the keyboard', () => {
  test('holds to run', () => {
    const keyboard = new Keyboard();
    expect(keyboard.press(key('KeyW'))).toBe(true);
    expect(keyboard.read()).toMatchObject({ forward: 1 });
    keyboard.lift(key('KeyW'));
    expect(keyboard.read()).toBeNull();
  });

  test('lets go of everything at once', () => {
    const keyboard = new Keyboard();
    keyboard.press(key('KeyW'));
    keyboard.press(key('KeyJ', true));
    keyboard.letGo();
    expect(keyboard.read()).toBeNull();
  });

  test('leaves shortcuts of the browser and other keys alone', () => {
    const keyboard = new Keyboard();
    expect(keyboard.press({ ...key('KeyR'), ctrlKey: true })).toBe(false);
    expect(keyboard.press(key('KeyZ'))).toBe(false);
    expect(keyboard.read()).toBeNull();
  });

  test('counts two opposite keys as none', () => {
    const keyboard = new Keyboard();
    keyboard.press(key('ArrowUp'));
    keyboard.press(key('KeyS'));
    expect(keyboard.read()).toMatchObject({ forward: 0 });
  });
});

describe('a gamepad', () => {
  test('is silent within the dead zone, and full at the rim', () => {
    expect(outsideDeadZone(0.1, -0.1)).toEqual([0, 0]);
    expect(outsideDeadZone(0, -1)).toEqual([0, -1]);
    expect(outsideDeadZone(NaN, 0)).toEqual([0, 0]);
    expect(outsideDeadZone(0.16, 0)[0]).toBeLessThan(0.02);
  });

  test('moves by stick and triggers', () => {
    const held = pad({ axes: [1, 0, 0, 0] });
    (held.buttons as { pressed: boolean; value: number }[])[7] = { pressed: true, value: 0.5 };
    expect(new Gamepads(() => [null, held], {}).read()).toMatchObject({ right: 1, up: 0.5 });
  });

  test('lets go when it is pulled out', () => {
    let pads: (PadState | null)[] = [pad({ axes: [0, -1, 0, 0] })];
    const gamepads = new Gamepads(() => pads, {});
    expect(gamepads.read()).toMatchObject({ forward: 1 });
    pads = [pad({ axes: [0, -1, 0, 0], connected: false })];
    expect(gamepads.read()).toBeNull();
    pads = [null];
    expect(gamepads.read()).toBeNull();
  });

  test('has a state for robots that map it themselves, without the buttons of the page', () => {
    const held = pad({ axes: [0.1, NaN, 0, 0.6] });
    const buttons = held.buttons as { pressed: boolean; value: number }[];
    [buttons[1], buttons[7]] = [{ pressed: true, value: 1 }, { pressed: true, value: 0.5 }];
    const gamepads = new Gamepads(() => [held], { 1: () => undefined });
    gamepads.read();
    expect(gamepads.raw?.axes).toEqual([0.1, 0, 0, 0.6]);
    expect(gamepads.raw?.buttons.flatMap((value, i) => (value ? [[i, value]] : []))).toEqual([[7, 0.5]]);

    // at rest it has none, so the control counts as released
    const idle = new Gamepads(() => [pad({ axes: [0.1, 0, 0, 0] })], {});
    idle.read();
    expect(idle.raw).toBeNull();
  });

  test('of another layout is named, and not used', () => {
    const gamepads = new Gamepads(() => [pad({ mapping: '', axes: [1, 1, 1, 1] })], {});
    expect(gamepads.read()).toBeNull();
    expect(gamepads.warning).toContain('Test pad');
  });

  test('stops once a press, and leaves other buttons alone', () => {
    let [stops, grips] = [0, 0];
    const pressed = pad();
    (pressed.buttons as { pressed: boolean; value: number }[])[1] = { pressed: true, value: 1 };
    const gamepads = new Gamepads(() => [pressed], { 1: () => ++stops, 2: () => ++grips });
    gamepads.read();
    gamepads.read();
    expect([stops, grips]).toEqual([1, 0]);
    (pressed.buttons as { pressed: boolean; value: number }[])[1] = { pressed: false, value: 0 };
    gamepads.read();
    (pressed.buttons as { pressed: boolean; value: number }[])[1] = { pressed: true, value: 1 };
    gamepads.read();
    expect(stops).toBe(2);
  });
});
