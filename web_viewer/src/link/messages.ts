// What the page and its worker say to each other. Plain data only: it crosses a structured clone.

// as pliant.v1.FieldMeasure
export const Measure = { strain: 1, stress: 2, volume: 3, stretch: 4 } as const;
export type MeasureId = (typeof Measure)[keyof typeof Measure];

export type Vec3 = [number, number, number];
export type Motion = 'FIXED' | 'KINEMATIC' | 'FREE';

// the page to the worker
export type ToWorker =
  | { kind: 'start'; socketUrl: string; healthUrl: string; world: string; client: string; measure: MeasureId }
  | { kind: 'measure'; measure: MeasureId }
  | { kind: 'contacts'; on: boolean }
  | { kind: 'drawn'; frame: number; buffers: ArrayBuffer[] } // acknowledges, and asks for the next one
  | { kind: 'call'; id: number; call: Call }
  | { kind: 'drive'; target: string; twist: TwistCommand } // a hand is on the control; repeat while it is
  | { kind: 'letGo' }
  | { kind: 'takeover' }
  | { kind: 'retry' };

export interface TwistCommand {
  linear: Vec3; // world frame [m/s]
  angular: Vec3; // world frame [rad/s]
}

export type Call =
  | { op: 'pause' }
  | { op: 'run'; factor: number } // simulated seconds a second; Infinity: as fast as it goes
  | { op: 'step'; steps: number }
  | { op: 'reset' }
  | { op: 'stop' }
  | { op: 'resume' };

// the worker to the page
export type ToPage =
  | { kind: 'connection'; connection: Connection }
  | { kind: 'world'; world: WorldInfo }
  | { kind: 'frame'; frame: FrameInfo }
  | { kind: 'lease'; lease: LeaseInfo }
  | { kind: 'stats'; stats: LinkStats }
  | { kind: 'reply'; id: number; error: string };

export interface Connection {
  state: 'connecting' | 'live' | 'lost' | 'no_world';
  text: string; // what is going on, for people
  retryInMs: number; // until the next attempt; 0 while none is planned
}

export interface LeaseInfo {
  state: 'none' | 'acquiring' | 'held' | 'refused' | 'lost';
  target: string;
  text: string; // why refused or lost
}

export interface LinkStats {
  framesReceived: number;
  framesSkipped: number; // received, and replaced by a later one before they were drawn
  framesPerSecond: number; // received
  drawnPerSecond: number;
  bytesPerSecond: number;
  ackLagMs: number; // from the arrival of a frame to its acknowledgement
  roundTripMs: number; // command to its answer while driving, else of a plain request
  roundTripOf: 'command' | 'request' | 'nothing';
}

export interface WorldInfo {
  name: string;
  sceneName: string;
  serverVersion: string;
  modelHash: string;
  timeStep: number;
  gravity: Vec3;
  rigid: RigidInfo[];
  soft: SoftInfo[];
}

export interface RigidInfo {
  name: string;
  motion: Motion;
  shapes: ShapeInfo[];
}

export interface ShapeInfo {
  position: Vec3;
  quaternion: [number, number, number, number]; // w, x, y, z
  geometry: GeometryInfo;
}

export type GeometryInfo =
  | { type: 'box'; size: Vec3 }
  | { type: 'sphere'; radius: number }
  | { type: 'capsule'; radius: number; length: number }
  | { type: 'cylinder'; radius: number; length: number }
  | { type: 'ellipsoid'; radii: Vec3 }
  | { type: 'halfSpace' }
  | { type: 'triangles'; positions: Float32Array; normals: Float32Array; indices: Uint32Array };

export interface SoftInfo {
  name: string;
  vertices: number; // of the volume mesh
  tetrahedra: number;
  youngsModulus: number;
  surfaceVertices: number;
  renderVertices: number; // surface vertices, doubled along creases
  indices: Uint32Array;
}

export interface FrameInfo {
  frame: number;
  step: number;
  time: number;
  epoch: number;
  stopped: boolean;
  rigid: { body: number; pose: number[] }[]; // x, y, z, qw, qx, qy, qz
  soft: SoftFrame[];
  contacts: ContactInfo[];
  forces: ForceInfo[];
  report: ReportInfo | null;
  clock: { mode: 'paused' | 'realTime' | 'freeRun'; factor: number };
  fault: { step: number; reason: string; body: string } | null;
  drivers: { target: string; client: string; step: number }[];
}

export interface SoftFrame {
  body: number;
  positions: Float32Array; // xyz a render vertex, world frame [m]
  normals: Float32Array;
  field: Uint16Array; // (value, 32768) a render vertex, 0 … 65535 from fieldMin to fieldMax: a texture coordinate
  measure: number;
  fieldMin: number;
  fieldMax: number;
  unit: string;
  centroid: Vec3; // of the surface, area weighted [m]
  low: Vec3; // bounding box [m]
  high: Vec3;
}

export interface ContactInfo {
  position: number[];
  normal: number[]; // from a into b
  force: number[]; // on b [N]
  a: string;
  b: string;
}

export interface ForceInfo {
  body: string;
  force: number[]; // [N]
  torque: number[];
  contacts: number;
}

export interface ReportInfo {
  converged: boolean;
  stalled: boolean;
  iterations: number;
  contacts: number;
  stepSeconds: number;
  realTimeRate: number;
  kineticEnergy: number;
  elasticEnergy: number;
}
