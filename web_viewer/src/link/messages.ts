// What the page and its worker say to each other. Plain data only: it crosses a structured clone.

// as pliant.v1.FieldMeasure
export const Measure = { strain: 1, stress: 2, volume: 3, stretch: 4, contactPressure: 7, contactTraction: 8 } as const;
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
  | { kind: 'drive'; target: string; twist: TwistCommand; controller: string } // a hand is on it; repeat while it is
  | { kind: 'letGo' } // the hand is off
  | { kind: 'set'; target: string; setting: Setting; fresh: boolean } // repeat until it is reached; fresh: a new gesture
  | { kind: 'release'; target: string } // gives a lease back at once
  | { kind: 'takeover'; target: string }
  | { kind: 'retry' };

export interface TwistCommand {
  linear: Vec3; // world frame [m/s]
  angular: Vec3; // world frame [rad/s]
}

// What a robot is to reach by itself.
export type Setting =
  | { kind: 'joints'; joints: string[]; values: number[] }
  | { kind: 'gripper'; controller: string; position: number };

export type Command = ({ kind: 'twist'; controller: string } & TwistCommand) | Setting;

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
  target: string; // body or robot
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
  robots: RobotInfo[];
}

export interface RigidInfo {
  name: string;
  motion: Motion;
  shapes: ShapeInfo[]; // what is to be seen
  colors: (Color | null)[]; // of each of them; null: the viewer's choice
  robot: string; // that it is a link of; empty: none
}

export type Color = [number, number, number, number]; // red, green, blue, alpha in 0 … 1

export interface RobotInfo {
  name: string;
  links: number[]; // indices in WorldInfo.rigid
  joints: JointInfo[];
  tools: ToolInfo[];
  grippers: GripperInfo[];
}

export interface JointInfo {
  name: string;
  index: number; // in FrameInfo.joints
  slides: boolean; // [m], else [rad]
  lower: number; // may be infinite
  upper: number;
  velocityLimit: number;
  effortLimit: number;
  drive: 'none' | 'torque' | 'position' | 'velocity' | 'activation'; // the last a stress [Pa] within a soft body
}

// A differential-IK controller.
export interface ToolInfo {
  name: string;
  body: string; // that it moves
  carried: string[]; // that, and all that hangs on it
  joints: string[];
}

export interface GripperInfo {
  name: string;
  joints: string[];
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
  joints: JointFrameInfo;
}

// Of all robots' joints.
export interface JointFrameInfo {
  positions: number[];
  velocities: number[];
  targets: number[];
  efforts: number[];
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
  residual: number;
  stepsNotConverged: number; // since the start, of those not shown too
  reason: string; // why the solve ended
  compromises: [kind: string, count: number][]; // since the start, none that is zero
  contacts: number;
  stepSeconds: number;
  realTimeRate: number;
  kineticEnergy: number;
  elasticEnergy: number;
}
