// Finds the points of a body that may be seen, so that those deep inside a pile are not drawn.
import type { Vec3 } from './messages';

const kCellSize = 4; // in radii: two points of a lattice whose balls touch
const kFull = 4; // points in a cell that hide what is behind, of eight in such a lattice
const kMaxCells = 4_000_000; // with more, all points count as seen
// In the number of a cell: its points, and whether they are seen, once known.
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
    const [nx, ny, nz] = [fx, fy, fz].map((factor) => Math.floor(32767 * factor) + 3); // empty cells on either side
    if (!(nx * ny * nz <= kMaxCells)) {
      for (let i = 0; i < points; ++i) seen[i] = i;
      return points;
    }
    if (this.cells.length < nx * ny * nz) this.cells = new Uint8Array(nx * ny * nz);
    if (this.cellOf.length < points) this.cellOf = new Int32Array(points);
    const { cells, cellOf } = this;
    cells.fill(0, 0, nx * ny * nz);
    for (let i = 0; i < points; ++i) {
      const x = (positions[3 * i] * fx) | 0;
      const y = (positions[3 * i + 1] * fy) | 0;
      const z = (positions[3 * i + 2] * fz) | 0;
      const cell = ((z + 1) * ny + y + 1) * nx + x + 1;
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
