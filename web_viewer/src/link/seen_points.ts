// Finds the points of a body that may be seen, so that those deep inside a pile are not drawn.
import type { Vec3 } from './messages';

// Size of a cell in radii. In a lattice whose balls touch, a cell has eight of them.
const kCellSize = 4;
// A cell with this number of points hides what is behind it.
const kFull = 4;
// All points of a body that spans more cells than this are drawn.
const kMaxCells = 4_000_000;
// The byte of a cell has the number of its points, and says whether they are seen once that is known.
const kCount = 0x3f;
const kHidden = 0x40;
const kSeen = 0x80;

export class SeenPoints {
  private cells = new Uint8Array(0);
  private cellOf = new Int32Array(0);

  // Writes the indices of the points that may be seen, and returns their number. A point is hidden if its cell and the 26 cells
  // around it are full. `scale`: length of a quantum along each axis [m].
  find(positions: Int16Array, scale: Vec3, radius: number, seen: Uint32Array): number {
    const points = positions.length / 3;
    const [fx, fy, fz] = scale.map((quantum) => quantum / (kCellSize * radius));
    // with empty cells on either side
    const [wide, deep, high] = [fx, fy, fz].map((factor) => Math.floor(32767 * factor) + 3);
    const numCells = wide * deep * high;
    if (!(numCells <= kMaxCells)) {
      for (let i = 0; i < points; ++i) seen[i] = i;
      return points;
    }
    if (this.cells.length < numCells) this.cells = new Uint8Array(numCells);
    if (this.cellOf.length < points) this.cellOf = new Int32Array(points);
    const { cells, cellOf } = this;
    cells.fill(0, 0, numCells);
    // integers to the compiler, too, which makes the loops a third faster
    const nx = wide | 0;
    const ny = deep | 0;
    for (let i = 0; i < points; ++i) {
      const x = (positions[3 * i] * fx) | 0;
      const y = (positions[3 * i + 1] * fy) | 0;
      const z = (positions[3 * i + 2] * fz) | 0;
      const cell = (((z + 1) * ny + y + 1) * nx + x + 1) | 0;
      cellOf[i] = cell;
      if (cells[cell] < kCount) ++cells[cell];
    }
    let count = 0;
    for (let i = 0; i < points; ++i) {
      const cell = cellOf[i];
      let state = cells[cell];
      if (state < kHidden) {
        state |= isSurrounded(cells, cell, nx, nx * ny) ? kHidden : kSeen;
        cells[cell] = state;
      }
      if (state >= kSeen) seen[count++] = i;
    }
    return count;
  }
}

function isSurrounded(cells: Uint8Array, cell: number, row: number, layer: number): boolean {
  for (let z = -layer; z <= layer; z += layer) {
    for (let y = -row; y <= row; y += row) {
      for (let at = cell + z + y - 1; at <= cell + z + y + 1; ++at) if ((cells[at] & kCount) < kFull) return false;
    }
  }
  return true;
}
