// Motion requested by an input device, in the camera's frame, and its conversion to a twist.
import type { TwistCommand, Vec3 } from '../link/messages';

// Axes from −1 to 1 in the camera's horizontal frame. A device that is not in use gives null instead.
export interface Intent {
  right: number;
  forward: number;
  up: number;
  pitch: number; // about the camera's right
  roll: number; // about the camera's forward
  yaw: number; // about the vertical
  fine: boolean; // a quarter of the speed
}

export const kNoMotion: Intent = { right: 0, forward: 0, up: 0, pitch: 0, roll: 0, yaw: 0, fine: false };

export interface DriveSpeed {
  linear: number; // [m/s]
  angular: number; // [rad/s]
}

// Combines the devices: for each axis the first non-zero value wins. Null when none is in use.
export function joinIntents(intents: (Intent | null)[]): Intent | null {
  const on = intents.filter((intent): intent is Intent => intent !== null);
  if (on.length === 0) return null;
  const joined = { ...kNoMotion };
  for (const intent of on) {
    for (const axis of ['right', 'forward', 'up', 'pitch', 'roll', 'yaw'] as const) {
      if (joined[axis] === 0) joined[axis] = intent[axis];
    }
    joined.fine ||= intent.fine;
  }
  return joined;
}

// Twist in the world frame, z up. `heading`: angle of the camera's forward from the x axis, seen from above [rad].
export function intentTwist(intent: Intent, heading: number, speed: DriveSpeed): TwistCommand {
  const forward: Vec3 = [Math.cos(heading), Math.sin(heading), 0];
  const right: Vec3 = [Math.sin(heading), -Math.cos(heading), 0];
  const part = intent.fine ? 0.25 : 1;
  const linear = limited([intent.right, intent.forward, intent.up], part * speed.linear);
  const angular = limited([intent.pitch, intent.roll, intent.yaw], part * speed.angular);
  return {
    linear: [0, 1].map((k) => linear[0] * right[k] + linear[1] * forward[k]).concat(linear[2]) as Vec3,
    angular: [0, 1].map((k) => angular[0] * right[k] + angular[1] * forward[k]).concat(angular[2]) as Vec3,
  };
}

// Returns `vector` times `size`, with its length limited to `size`, so that a diagonal is no faster than an axis.
function limited(vector: Vec3, size: number): Vec3 {
  const scale = size / Math.max(1, Math.hypot(...vector));
  return vector.map((x) => x * scale) as Vec3;
}
