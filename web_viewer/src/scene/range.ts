// The range of values that the colours span. It opens fast, closes slowly, and rests on round numbers, so that colours
// do not flicker; a lock holds it.
import { Measure, type MeasureId } from '../link/messages';

export interface Range {
  low: number;
  high: number;
}

const kOpen = 0.12; // [s]
const kClose = 2.5; // [s]

export class AutoRange {
  locked = false;
  private spread: number; // distance from the reference value, smoothed
  private shown: number; // the same as a round number
  private quiet: number; // no smaller than this: noise shall not glow

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

  // `low` and `high` of the latest frame, `seconds` of wall time after the one before
  update(low: number, high: number, seconds: number): void {
    if (this.locked || !Number.isFinite(low) || !Number.isFinite(high)) return;
    const reference = referenceValue(this.measure);
    const wanted = isDiverging(this.measure)
      ? Math.max(Math.abs(low - reference), Math.abs(high - reference), this.quiet)
      : Math.max(high, this.quiet);
    const time = wanted > this.spread ? kOpen : kClose;
    this.spread += (wanted - this.spread) * (1 - Math.exp(-Math.max(0, seconds) / time));

    // up as soon as it is exceeded, down only where there is room to spare
    const roomy = this.spread < 1.05 * this.quiet ? this.quiet : roundUp(1.2 * this.spread);
    if (this.spread > 1.02 * this.shown) this.shown = roundUp(this.spread);
    else if (roomy < this.shown) this.shown = roomy;
  }
}

// in Pa
export function isPressure(measure: MeasureId): boolean {
  return measure === Measure.stress || measure === Measure.contactPressure || measure === Measure.contactTraction;
}

export function isDiverging(measure: MeasureId): boolean {
  return measure === Measure.volume || measure === Measure.stretch;
}

// the value of a body at rest
export function referenceValue(measure: MeasureId): number {
  return isDiverging(measure) ? 1 : 0;
}

// the smallest of 1, 1.5, 2, 3, 5, 7 · 10ⁿ that is not below x
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
