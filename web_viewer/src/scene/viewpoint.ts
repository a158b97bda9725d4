// From which side to look at a scene first: the usual one, unless what matters is hidden from there.

// about the vertical from the usual side, in order of preference [rad]
const kTurns = [0, -45, 45, -90, 90, -135, 135, 180].map((degrees) => (degrees * Math.PI) / 180);
const kReluctance = 0.04; // to go one further: of what matters, as much must come in sight

// The turn from which the least is hidden. `hidden`: the part of what matters, 0 … 1.
export function chooseTurn(hidden: (turn: number) => number): number {
  let best = 0;
  let least = Infinity;
  for (const [rank, turn] of kTurns.entries()) {
    if (rank * kReluctance >= least) break; // nothing that follows can be better
    const cost = hidden(turn) + rank * kReluctance;
    if (cost < least - 1e-9) [best, least] = [turn, cost];
  }
  return best;
}
