// Input from keyboard, gamepad, pointer and touch. Polls the devices every 20 ms and sends the combined twist to the link.
// Control is released when the focus is lost, the tab is hidden, the gamepad is unplugged or the connection is lost.
import { Raycaster, Vector2, type Vector3 } from 'three';
import type { Motion, TwistCommand } from '../link/messages';
import type { Stage } from '../scene/stage';
import { Drag } from './drag';
import { Gamepads } from './gamepad';
import { intentTwist, joinIntents, kNoMotion, type DriveSpeed, type Intent } from './intent';
import { Keyboard } from './keyboard';
import { Pull, type Hit } from './pull';

const kReadMs = 20;
const kSpinPerSpeed = 6; // [rad/m]: 1.5 rad/s at 0.25 m/s
const kClickPx = 5;

// The driven target: a kinematic body, or the link of a robot's controller.
export interface Driven {
  target: string; // body or robot
  controller: string; // of the robot; empty for a body
  body: string; // the body that moves
  grasp: ReadonlySet<string>; // bodies that the pointer can grab to drag it
  gamepad: boolean; // the robot maps the state of a gamepad itself
}

export interface DriverPort {
  driven(): Driven | null;
  position(body: string): Vector3 | null;
  pick(ray: Raycaster): Hit | null;
  drive(driven: Driven, motion: Motion): void;
  pullable(hit: Hit): boolean; // the body moves freely
  pull(pull: Pull): void;
  letGo(): void;
  stop(): void;
  grip(): void; // opens or closes the gripper
  next(): void; // switches to the next target
  selected(hit: Hit): void; // a body was clicked
  blocked(): boolean; // driving is not possible now
}

export class Driver {
  speed: DriveSpeed = { linear: 0.25, angular: 0.25 * kSpinPerSpeed };
  readonly gamepads: Gamepads;
  readonly drag = new Drag();
  pulled: Pull | null = null; // by the pointer
  driving = false;
  private readonly keyboard = new Keyboard();
  private readonly touched = new Map<number, { axis: Exclude<keyof Intent, 'fine'>; sign: number }>();
  private readonly ray = new Raycaster();
  private shift = false;
  private pressedAt: [number, number] | null = null;

  constructor(
    private readonly port: DriverPort,
    private readonly stage: Stage,
    private readonly canvas: HTMLCanvasElement,
  ) {
    const mayAct = () => !away() && !port.blocked();
    this.gamepads = new Gamepads(
      () => navigator.getGamepads?.() ?? [],
      { 1: () => port.stop(), 2: () => mayAct() && port.grip(), 3: () => mayAct() && port.next() },
    );
    this.listenKeys();
    this.listenPointer();
    this.listenTouch();
    window.addEventListener('blur', () => this.letGo());
    window.addEventListener('pagehide', () => this.letGo());
    window.addEventListener('gamepaddisconnected', () => this.read());
    document.addEventListener('visibilitychange', () => document.hidden && this.letGo());
    setInterval(() => this.read(), kReadMs);
  }

  setSpeed(linear: number): void {
    this.speed = { linear, angular: linear * kSpinPerSpeed };
  }

  letGo(): void {
    this.keyboard.letGo();
    this.touched.clear();
    this.drag.end();
    this.pulled = null;
    document.querySelectorAll('#touch .down').forEach((button) => button.classList.remove('down'));
    if (this.driving) this.port.letGo();
    this.driving = false;
  }

  private read(): void {
    const pad = this.gamepads.read();
    const driven = this.port.driven();
    const body = driven ? this.port.position(driven.body) : null;
    const blocked = away() || this.port.blocked();
    const motion = blocked || !driven || !body ? null : this.motion(pad, driven, body);
    if (this.pulled && !blocked) {
      this.driving = true;
      this.port.pull(this.pulled);
    } else if (driven && motion) {
      this.driving = true;
      this.port.drive(driven, motion);
    } else if (this.driving) {
      this.driving = false;
      this.port.letGo();
    }
  }

  private motion(pad: Intent | null, driven: Driven, body: Vector3): Motion | null {
    const { raw } = this.gamepads;
    const hands = this.keyboard.read() ?? this.touchIntent();
    if (driven.gamepad && raw && !hands && !this.drag.active) return { kind: 'gamepad', ...raw };
    const twist = this.twist(driven.gamepad ? null : pad, body);
    return twist && { kind: 'twist', controller: driven.controller, ...twist };
  }

  private twist(pad: Intent | null, body: Vector3): TwistCommand | null {
    const intent = joinIntents([this.keyboard.read(), this.touchIntent(), pad]);
    if (!intent && !this.drag.active) return null;
    const twist = intentTwist(intent ?? kNoMotion, this.stage.heading, this.speed);
    if (this.drag.active && intent === null) twist.linear = this.drag.velocity(body, this.speed.linear);
    return twist;
  }

  private touchIntent(): Intent | null {
    if (this.touched.size === 0) return null;
    const intent = { ...kNoMotion };
    for (const { axis, sign } of this.touched.values()) intent[axis] = sign;
    return intent;
  }

  private listenKeys(): void {
    window.addEventListener('keydown', (event) => {
      this.shift = event.shiftKey;
      if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
      const action = { KeyG: this.port.grip, KeyT: this.port.next }[event.code];
      if (action && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey && !this.port.blocked()) action();
      if (this.keyboard.press(event)) {
        event.preventDefault();
        if (!event.repeat) this.read();
      }
    });
    window.addEventListener('keyup', (event) => {
      this.shift = event.shiftKey;
      this.keyboard.lift(event);
      this.read();
    });
  }

  private listenPointer(): void {
    // capture before the camera's own listener, so that grabbing a body does not turn the view
    const parent = this.canvas.parentElement ?? document.body;
    parent.addEventListener(
      'pointerdown',
      (event) => {
        if (event.target !== this.canvas || event.button !== 0) return;
        this.canvas.focus({ preventScroll: true });
        this.pressedAt = [event.clientX, event.clientY];
        const hit = this.pickAt(event);
        if (hit && (event.ctrlKey || event.metaKey)) return this.beginPull(event, hit);
        const driven = this.port.driven();
        const body = hit && driven?.grasp.has(hit.name) ? this.port.position(driven.body) : null;
        if (!hit || !body || this.port.blocked()) return;
        event.stopPropagation();
        event.preventDefault();
        this.canvas.setPointerCapture(event.pointerId);
        this.drag.begin(hit.point, body, this.stage.camera, event.shiftKey);
        this.canvas.classList.add('grabbing');
      },
      true,
    );
    this.canvas.addEventListener('pointermove', (event) => {
      if (this.pulled) {
        this.aim(event);
        this.pulled.move(this.ray, this.stage.camera, event.shiftKey || this.shift);
      } else if (this.drag.active) {
        this.aim(event);
        this.drag.move(this.ray, this.stage.camera, event.shiftKey || this.shift);
      } else if (event.buttons === 0 && event.pointerType === 'mouse') {
        const hit = this.pickAt(event);
        this.canvas.classList.toggle('grab', hit !== null && (this.port.driven()?.grasp.has(hit.name) ?? false));
      }
    });
    const end = (event: PointerEvent) => {
      if (event.type === 'pointerup' && this.pressedAt) {
        const [x, y] = this.pressedAt;
        const hit = Math.hypot(event.clientX - x, event.clientY - y) < kClickPx ? this.pickAt(event) : null;
        if (hit) this.port.selected(hit);
      }
      this.pressedAt = null;
      this.drag.end();
      this.pulled = null;
      this.canvas.classList.remove('grabbing');
      this.read();
    };
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture'] as const) {
      this.canvas.addEventListener(type, end);
    }
  }

  private beginPull(event: PointerEvent, hit: Hit): void {
    event.stopPropagation();
    event.preventDefault();
    if (!this.port.pullable(hit) || this.port.blocked()) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pressedAt = null; // not a click
    this.pulled = new Pull(hit, this.stage.camera);
    this.canvas.classList.add('grabbing');
  }

  private listenTouch(): void {
    for (const button of document.querySelectorAll<HTMLButtonElement>('#touch button')) {
      const axis = button.dataset.axis as Exclude<keyof Intent, 'fine'>;
      const sign = Number(button.dataset.sign);
      button.addEventListener('pointerdown', (event) => {
        event.preventDefault();
        button.setPointerCapture(event.pointerId);
        this.touched.set(event.pointerId, { axis, sign });
        button.classList.add('down');
      });
      for (const type of ['pointerup', 'pointercancel', 'lostpointercapture'] as const) {
        button.addEventListener(type, (event) => {
          this.touched.delete(event.pointerId);
          button.classList.remove('down');
        });
      }
    }
  }

  private aim(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const at = new Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    this.ray.setFromCamera(at, this.stage.camera);
  }

  private pickAt(event: PointerEvent): Hit | null {
    this.aim(event);
    return this.port.pick(this.ray);
  }
}

// Whether the page is not in front. A gamepad is visible to every open page, and only the one in front may drive.
function away(): boolean {
  return document.hidden || !document.hasFocus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
}
