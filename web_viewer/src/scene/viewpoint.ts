// Choice of the initial viewpoint: the default side, unless too much is hidden from there.

// rotations about the vertical from the default side, in order of preference [rad]
const kTurns = [0, -45, 45, -90, 90, -135, 135, 180].map((degrees) => (degrees * Math.PI) / 180);
const kReluctance = 0.04; // cost per rank, as a hidden fraction

// Returns the rotation from which least is hidden. `hidden`: hidden fraction of robots and soft bodies, 0 … 1.
export function chooseTurn(hidden: (turn: number) => number): number {
  let best = 0;
  let least = Infinity;
  for (const [rank, turn] of kTurns.entries()) {
    if (rank * kReluctance >= least) break; // no later one can be better
    const cost = hidden(turn) + rank * kReluctance;
    if (cost < least - 1e-9) [best, least] = [turn, cost];
  }
  return best;
}
