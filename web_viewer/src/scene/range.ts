// The range of values that the colours span. It grows fast, shrinks slowly and ends on round numbers, so that colours do not
// flicker; it can be locked.
import { Measure, type MeasureId } from '../link/messages';

export interface Range {
  low: number;
  high: number;
}

const kOpen = 0.12; // time constant of growing [s]
const kClose = 2.5; // time constant of shrinking [s]

export class AutoRange {
  locked = false;
  private spread: number; // distance from the reference value, smoothed
  private shown: number; // the displayed spread, a round number
  private quiet: number; // lower bound, so that noise is not amplified

  constructor(readonly measure: MeasureId, youngsModulus = 0) {
    this.quiet = quietSpread(measure, youngsModulus);
    this.spread = this.quiet;
    this.shown = this.quiet;
  }

  get range(): Range {
    const reference = referenceValue(this.measure);
    return isDiverging(this.measure)
      ? { low: reference - this.shown, high: reference + this.shown }
      : { low: 0, high: this.shown };
  }

  // `low`, `high`: extent of the latest frame. `seconds`: wall time since the previous one.
  update(low: number, high: number, seconds: number): void {
    if (this.locked || !Number.isFinite(low) || !Number.isFinite(high)) return;
    const reference = referenceValue(this.measure);
    const wanted = isDiverging(this.measure)
      ? Math.max(Math.abs(low - reference), Math.abs(high - reference), this.quiet)
      : Math.max(high, this.quiet);
    const time = wanted > this.spread ? kOpen : kClose;
    this.spread += (wanted - this.spread) * (1 - Math.exp(-Math.max(0, seconds) / time));

    // grow as soon as it is exceeded, shrink only to a range with some margin
    const roomy = this.spread < 1.05 * this.quiet ? this.quiet : roundUp(1.2 * this.spread);
    if (this.spread > 1.02 * this.shown) this.shown = roundUp(this.spread);
    else if (roomy < this.shown) this.shown = roomy;
  }
}

// True if the measure is in pascals.
export function isPressure(measure: MeasureId): boolean {
  const { stress, pressure, contactPressure, contactTraction } = Measure;
  return ([stress, pressure, contactPressure, contactTraction] as MeasureId[]).includes(measure);
}

// True if the measure may be on either side of its reference value.
export function isDiverging(measure: MeasureId): boolean {
  return isRatio(measure) || measure === Measure.pressure;
}

// Value of the measure in an undeformed body.
export function referenceValue(measure: MeasureId): number {
  return isRatio(measure) ? 1 : 0;
}

function isRatio(measure: MeasureId): boolean {
  return measure === Measure.volume || measure === Measure.stretch;
}

// Returns the smallest of 1, 1.5, 2, 3, 5, 7 · 10ⁿ that is at least x.
export function roundUp(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  for (const step of kSteps) if (step * power >= x * (1 - 1e-9)) return Number((step * power).toPrecision(12));
  return 10 * power;
}

const kSteps = [1, 1.5, 2, 3, 5, 7];

function quietSpread(measure: MeasureId, youngsModulus: number): number {
  if (isPressure(measure)) return roundUp(Math.max(1, 0.02 * youngsModulus));
  return 0.02;
}
