// window.pliant: the displayed state as read-only data, for tests and for the console.
import type { Driven } from './drive/driver';
import type { Client } from './link/client';
import type { FrameInfo } from './link/messages';
import type { Bodies, ParticleInfo } from './scene/bodies';
import type { Stage } from './scene/stage';

export interface PliantHooks {
  readonly client: string; // the name under which this page drives
  readonly connection: { state: string; text: string };
  readonly world: { name: string; scene: string; modelHash: string; timeStep: number } | null;
  // the last frame drawn
  readonly frame: FrameHook | null;
  readonly framesReceived: number;
  readonly framesDrawn: number;
  readonly rigid: Record<string, { motion: string; position: number[]; quaternion: number[] }>; // w, x, y, z
  readonly soft: Record<string, SoftHook>;
  readonly points: Record<string, PointsHook>; // bodies of particles
  readonly particle: ParticleInfo | null; // the clicked one
  readonly textures: { loaded: number; failed: number };
  readonly forces: Record<string, { force: number[]; contacts: number }>; // [N]
  readonly contacts: number;
  readonly realTimeRate: number;
  readonly lease: { state: string; target: string; text: string }; // on the driven target
  readonly leases: Record<string, { state: string; text: string }>; // by body, robot, or robot/group
  readonly driven: { target: string; controller: string; body: string } | null; // the driven target
  readonly robots: Record<string, Record<string, JointHook>>; // joints by robot and name
  readonly drivers: { target: string; client: string }[];
  readonly roundTripMs: number;
  readonly heading: number; // horizontal direction of view, from the x axis [rad]
  screenPosition(body: string): number[] | null; // of the body's position, in CSS pixels of the page
}

interface FrameHook {
  frame: number;
  step: number;
  time: number;
  epoch: number;
  stopped: boolean;
  clock: string;
  fault: string; // reason of the fault that paused the world; empty: none
}

interface JointHook {
  position: number; // [rad] or [m]
  velocity: number;
  target: number; // of the joint's actuator
  effort: number;
  lower: number;
  upper: number;
}

interface SoftHook {
  centroid: number[];
  low: number[];
  high: number[];
  measure: number;
  fieldMin: number;
  fieldMax: number;
  unit: string;
  vertices: number;
}

interface PointsHook extends Omit<SoftHook, 'vertices'> {
  count: number; // of all particles
  drawn: number; // particles that frames have
}

declare global {
  interface Window {
    pliant: PliantHooks;
  }
}

export class Hooks {
  private last: FrameInfo | null = null;
  private drawn = 0;

  constructor(client: Client, bodies: Bodies, stage: Stage, driven: () => Driven | null, leased: () => string) {
    const view = (): FrameInfo | null => this.last;
    const drawn = (): number => this.drawn;
    const hooks: PliantHooks = {
      get client() {
        return client.name;
      },
      get connection() {
        return { state: client.connection.state, text: client.connection.text };
      },
      get world() {
        const world = client.world;
        if (!world) return null;
        return { name: world.name, scene: world.sceneName, modelHash: world.modelHash, timeStep: world.timeStep };
      },
      get frame() {
        const frame = view();
        if (!frame) return null;
        const { step, time, epoch, stopped, clock } = frame;
        const fault = frame.fault?.reason ?? '';
        return { frame: frame.frame, step, time, epoch, stopped, clock: clock.mode, fault };
      },
      get framesReceived() {
        return client.stats?.framesReceived ?? 0;
      },
      get framesDrawn() {
        return drawn();
      },
      get rigid() {
        return Object.fromEntries(
          bodies.rigid
            .filter(({ placed }) => placed)
            .map(({ info, group: { position: p, quaternion: q } }) => [
              info.name,
              { motion: info.motion, position: [p.x, p.y, p.z], quaternion: [q.w, q.x, q.y, q.z] },
            ]),
        );
      },
      get soft() {
        return Object.fromEntries(
          bodies.soft.flatMap(({ info, latest }) => {
            if (!latest) return [];
            const { centroid, low, high, measure, fieldMin, fieldMax, unit } = latest;
            return [[info.name, { centroid, low, high, measure, fieldMin, fieldMax, unit, vertices: info.vertices }]];
          }),
        );
      },
      get points() {
        return Object.fromEntries(
          bodies.points.flatMap(({ info, latest }) => {
            if (!latest) return [];
            const { centroid, low, high, measure, fieldMin, fieldMax, unit } = latest;
            const size = { count: info.count, drawn: info.radii.length };
            return [[info.name, { centroid, low, high, measure, fieldMin, fieldMax, unit, ...size }]];
          }),
        );
      },
      get particle() {
        return bodies.particle;
      },
      get textures() {
        return { ...bodies.textures };
      },
      get forces() {
        const entries = view()?.forces ?? [];
        return Object.fromEntries(entries.map(({ body, force, contacts }) => [body, { force, contacts }]));
      },
      get contacts() {
        return view()?.report?.contacts ?? 0;
      },
      get realTimeRate() {
        return view()?.report?.realTimeRate ?? 0;
      },
      get lease() {
        return { ...client.lease(leased()) };
      },
      get leases() {
        return Object.fromEntries([...client.leases].map(([target, { state, text }]) => [target, { state, text }]));
      },
      get driven() {
        const now = driven();
        return now && { target: now.target, controller: now.controller, body: now.body };
      },
      get robots() {
        const frame = view()?.joints;
        return Object.fromEntries(
          (client.world?.robots ?? []).map(({ name, joints }) => [
            name,
            Object.fromEntries(
              joints.map(({ name: joint, index, lower, upper }) => [
                joint,
                {
                  position: frame?.positions[index] ?? NaN,
                  velocity: frame?.velocities[index] ?? NaN,
                  target: frame?.targets[index] ?? NaN,
                  effort: frame?.efforts[index] ?? NaN,
                  lower,
                  upper,
                },
              ]),
            ),
          ]),
        );
      },
      get drivers() {
        return (view()?.drivers ?? []).map(({ target, client: who }) => ({ target, client: who }));
      },
      get roundTripMs() {
        return client.stats?.roundTripMs ?? 0;
      },
      get heading() {
        return stage.heading;
      },
      screenPosition(body) {
        const position = bodies.position(body);
        return position && stage.screenPosition(position);
      },
    };
    Object.defineProperty(window, 'pliant', { value: Object.freeze(hooks), writable: false });
  }

  show(frame: FrameInfo): void {
    this.last = frame;
    this.drawn += 1;
  }

  forget(): void {
    this.last = null;
  }
}
