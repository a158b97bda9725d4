// Messages between the page and its worker. They are structured-cloned, so they contain plain data only.
import type { Given, OpeningInfo } from '../files/opening';

// Values of pliant.v1.FieldMeasure.
export const Measure = {
  appearance: 0, // no field: bodies show their own colours
  strain: 1,
  stress: 2,
  volume: 3,
  stretch: 4,
  contactPressure: 7,
  contactTraction: 8,
  plasticStrain: 11,
  pressure: 12,
  speed: 13,
} as const;
export type MeasureId = (typeof Measure)[keyof typeof Measure];

export type Vec3 = [number, number, number];
export type BodyMotion = 'FIXED' | 'KINEMATIC' | 'FREE';

// Messages from the page to the worker.
export type ToWorker =
  | {
      kind: 'start';
      socketUrl: string;
      healthUrl: string;
      world: string;
      client: string;
      token: string; // empty: none
      measure: MeasureId;
    }
  | { kind: 'token'; token: string } // connects again with this token
  | { kind: 'measure'; measure: MeasureId }
  | { kind: 'contacts'; on: boolean }
  | { kind: 'drawn'; frame: number; buffers: ArrayBuffer[] } // acknowledges the frame and requests the next one
  | { kind: 'call'; id: number; call: Call }
  | { kind: 'drive'; target: string; motion: Motion } // repeat while the user is driving
  | { kind: 'letGo' } // the user released the control
  | { kind: 'set'; target: string; setting: Setting; fresh: boolean } // repeat until reached; fresh: a new gesture
  | { kind: 'release'; target: string } // releases a lease immediately
  | { kind: 'takeover'; target: string }
  | { kind: 'priority'; priority: number } // of leases that are acquired from now on
  | { kind: 'show'; world: string } // shows another world; '': the one that the server chooses
  | { kind: 'open'; given: Given } // creates a world from files or a scene of the server, and shows it
  | { kind: 'cancelOpening' }
  | { kind: 'retry' };

export interface TwistCommand {
  linear: Vec3; // world frame [m/s]
  angular: Vec3; // world frame [rad/s]
}

// A pull on a body by a spring: at a point of a rigid body, in its frame, or at a vertex of a soft one.
export interface PullCommand {
  link: string; // of a robot; empty for a body
  point: Vec3 | null;
  vertex: number | null;
  anchor: Vec3; // world frame [m]
}

export interface PadCommand {
  axes: number[];
  buttons: number[];
}

// Command of a held control. A zero wrench ends a pull.
export type Motion =
  | ({ kind: 'twist'; controller: string } & TwistCommand)
  | ({ kind: 'spring' } & PullCommand)
  | { kind: 'wrench'; link: string; force: Vec3 }
  | ({ kind: 'gamepad' } & PadCommand);

// Goal of a robot's joints or gripper.
export type Setting =
  | { kind: 'joints'; joints: string[]; values: number[] }
  | { kind: 'gripper'; controller: string; position: number };

export type Command = Motion | Setting;

export type Call =
  | { op: 'pause' }
  | { op: 'run'; factor: number } // simulated seconds per second; Infinity: as fast as possible
  | { op: 'step'; steps: number }
  | { op: 'reset' }
  | { op: 'stop' }
  | { op: 'resume' };

// Messages from the worker to the page.
export type ToPage =
  | { kind: 'connection'; connection: Connection }
  | { kind: 'world'; world: WorldInfo }
  | { kind: 'frame'; frame: FrameInfo }
  | { kind: 'lease'; lease: LeaseInfo }
  | { kind: 'stats'; stats: LinkStats }
  | { kind: 'opening'; opening: OpeningInfo }
  | { kind: 'scenes'; names: string[] } // that the server offers
  | { kind: 'reply'; id: number; error: string };

export interface Connection {
  state: 'connecting' | 'live' | 'lost' | 'no_world' | 'no_token';
  text: string; // description for the user
  retryInMs: number; // time until the next attempt; 0: none is scheduled
}

export interface LeaseInfo {
  state: 'none' | 'acquiring' | 'held' | 'refused' | 'lost';
  target: string; // body, robot, or robot/group
  text: string; // reason for which it was refused or lost
}

export interface LinkStats {
  framesReceived: number;
  framesSkipped: number; // received, but replaced by a later frame before they were drawn
  framesPerSecond: number; // received
  drawnPerSecond: number;
  bytesPerSecond: number;
  ackLagMs: number; // from the arrival of a frame to its acknowledgement
  roundTripMs: number; // of a command while driving, otherwise of a plain request
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
  points: PointsInfo[];
  robots: RobotInfo[];
  images: Map<string, ImageInfo>; // of textures, by hash
  watchesOnly: boolean; // the user may only watch and stop the world
}

export interface RigidInfo {
  name: string;
  motion: BodyMotion;
  shapes: ShapeInfo[]; // visible shapes
  colors: (Color | null)[]; // of each shape; null: chosen by the viewer
  robot: string; // robot of which the body is a link; empty: none
}

export type Color = [number, number, number, number]; // red, green, blue, alpha in 0 … 1

// Joints of a robot with a separate lease, on robot/name, while another client may drive the rest.
export interface GroupInfo {
  name: string;
  joints: string[];
}

export interface RobotInfo {
  name: string;
  links: number[]; // indices in WorldInfo.rigid
  joints: JointInfo[];
  tools: ToolInfo[];
  grippers: GripperInfo[];
  groups: GroupInfo[];
  hasGamepad: boolean; // the robot maps the state of a gamepad by its own profile
}

export interface JointInfo {
  name: string;
  index: number; // in FrameInfo.joints
  slides: boolean; // positions in [m]; otherwise in [rad]
  lower: number; // may be infinite
  upper: number;
  velocityLimit: number;
  effortLimit: number;
  drive: 'none' | 'torque' | 'position' | 'velocity' | 'activation'; // activation: a stress in a soft body [Pa]
}

// A differential-IK controller.
export interface ToolInfo {
  name: string;
  body: string; // body moved by the controller
  carried: string[]; // that body, and all bodies carried by it
  joints: string[];
}

export interface GripperInfo {
  name: string;
  joints: string[];
}

// An image as in its file.
export interface ImageInfo {
  bytes: Uint8Array;
  mediaType: string;
  width: number; // from its header [px]
  height: number;
}

// Appearance of a triangle mesh, in addition to its colour.
export interface VertexAppearance {
  image: string; // in WorldInfo.images; empty: none
  coordinates: Float32Array | null; // u and v of each render vertex; (0, 0) is the lower left corner of the image
  colors: Float32Array | null; // red, green and blue of each render vertex, linear
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
  | {
      type: 'triangles';
      positions: Float32Array;
      normals: Float32Array;
      indices: Uint32Array;
      appearance: VertexAppearance | null;
    };

export interface SoftInfo {
  name: string;
  body: number; // index among the deformable bodies
  fields: number[]; // values of pliant.v1.FieldMeasure that the body has
  vertices: number; // of the volume mesh
  tetrahedra: number;
  youngsModulus: number;
  surfaceVertices: number;
  renderVertices: number; // surface vertices, duplicated along creases
  volumeVertices: Uint32Array; // vertex of the volume mesh of each render vertex
  indices: Uint32Array;
  appearance: SoftAppearance | null; // of the fine surface that the body carries
}

// Appearance of the parts of a surface: each has `count` triangle corners from `start` on.
export interface SoftAppearance {
  groups: { start: number; count: number; color: Color; image: string; hasColors: boolean }[];
  coordinates: Float32Array | null; // as in VertexAppearance, of all parts
  colors: Float32Array | null;
}

// A body of particles.
export interface PointsInfo {
  name: string;
  body: number; // index among the deformable bodies
  fields: number[]; // values of pliant.v1.FieldMeasure that the body has
  youngsModulus: number;
  count: number; // of all points
  numbers: Uint32Array | null; // of the points in frames; null: all points
  radii: Float32Array; // drawn radii of these points [m]
}

export interface FrameInfo {
  frame: number;
  step: number;
  time: number;
  epoch: number;
  stopped: boolean;
  rigid: { body: number; pose: number[] }[]; // x, y, z, qw, qx, qy, qz
  soft: SoftFrame[];
  points: PointFrame[];
  contacts: ContactInfo[];
  forces: ForceInfo[];
  report: ReportInfo | null;
  clock: { mode: 'paused' | 'realTime' | 'freeRun'; factor: number };
  fault: { step: number; reason: string; body: string } | null;
  drivers: { target: string; client: string; step: number; priority: number }[];
  joints: JointFrameInfo;
}

// State of the joints of all robots.
export interface JointFrameInfo {
  positions: number[];
  velocities: number[];
  targets: number[];
  efforts: number[];
}

export interface SoftFrame {
  body: number;
  positions: Float32Array; // xyz per render vertex, world frame [m]
  normals: Float32Array;
  field: Uint16Array; // texture coordinate (value, 32768) per render vertex; value: 0 … 65535 from fieldMin to fieldMax
  measure: number;
  fieldMin: number;
  fieldMax: number;
  unit: string;
  centroid: Vec3; // of the surface, weighted by area [m]
  low: Vec3; // bounding box [m]
  high: Vec3;
}

export interface PointFrame {
  body: number;
  positions: Int16Array; // xyz per point, quantised: origin + scale · number, world frame [m]
  origin: Vec3;
  scale: Vec3;
  seen: Uint32Array; // indices of the points that may be seen, `numSeen` of them; room for one more than there are points
  numSeen: number;
  field: Uint16Array; // a number per point: 0 … 65535 from fieldMin to fieldMax
  measure: number;
  fieldMin: number;
  fieldMax: number;
  unit: string;
  centroid: Vec3; // mean of the points [m]
  low: Vec3; // bounding box of the points [m]
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
  stepsNotConverged: number; // since the start, including steps that were not shown
  reason: string; // reason for which the solve ended
  compromises: [kind: string, count: number][]; // since the start, without zero counts
  contacts: number;
  stepSeconds: number;
  realTimeRate: number;
  kineticEnergy: number;
  elasticEnergy: number;
}
