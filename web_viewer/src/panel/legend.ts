// The legend: the colour scale with units, and the choice of the measure.
import { Measure, type MeasureId } from '../link/messages';
import { colorTable, divergingColor, kTableSize, sequentialColor } from '../scene/colormap';
import { isDiverging, isPressure, type Range } from '../scene/range';
import { element, setText } from './dom';
import { trimmed, withPrefix } from './units';

export class Legend {
  private readonly bar = element<HTMLCanvasElement>('legend-bar');
  private readonly ticks = element('legend-ticks');
  private readonly choice = element<HTMLSelectElement>('measure');
  private readonly lock = element<HTMLButtonElement>('lock');
  private painted: boolean | null = null;
  private labels = '';
  private isChosen = false; // by the user

  constructor(onMeasure: (measure: MeasureId) => void, onLock: () => boolean) {
    this.choice.addEventListener('change', () => {
      this.isChosen = true;
      onMeasure(Number(this.choice.value) as MeasureId);
      this.choice.blur();
    });
    this.lock.addEventListener('click', () => this.showLock(onLock()));
  }

  // Offers the measures that any body has, given those of each body. Returns the chosen one.
  offer(ofBodies: number[][]): MeasureId {
    const offered = new Set(ofBodies.flat());
    for (const option of this.choice.options) option.hidden = option.disabled = !offered.has(Number(option.value));
    // textures are shown until the user chooses a field
    const own = String(Measure.appearance);
    if (!this.isChosen && offered.has(Measure.appearance)) this.choice.value = own;
    const options = [...this.choice.options].filter(({ disabled }) => !disabled);
    if (options.length > 0 && this.choice.selectedOptions[0]?.disabled !== false) this.choice.value = options[0].value;
    return Number(this.choice.value) as MeasureId;
  }

  // Shows the scale of a field, or hides it when bodies show their own colours.
  showScale(on: boolean): void {
    element('legend-scale').hidden = this.lock.hidden = !on;
  }

  showLock(locked: boolean): void {
    this.lock.setAttribute('aria-pressed', String(locked));
    this.lock.textContent = locked ? 'locked' : 'auto';
  }

  show(measure: MeasureId, range: Range, now: Range, unit: string): void {
    const diverging = isDiverging(measure);
    if (this.painted !== diverging) this.paint(diverging);
    const labels = [0, 0.25, 0.5, 0.75, 1].map((t) => quantity(measure, range.low + t * (range.high - range.low), unit));
    if (labels.join() !== this.labels) {
      this.labels = labels.join();
      this.ticks.replaceChildren(
        ...labels.map((label) => {
          const tick = document.createElement('span');
          tick.textContent = label;
          return tick;
        }),
      );
    }
    setText('field-now', `${quantity(measure, now.low, unit)} … ${quantity(measure, now.high, unit)}`);
  }

  private paint(diverging: boolean): void {
    this.painted = diverging;
    const table = colorTable(diverging ? divergingColor : sequentialColor);
    this.bar.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(table), kTableSize, 1), 0, 0);
  }
}

// Formats a value: strain in percent, stress with an SI prefix, speed with its unit, ratios as plain numbers.
export function quantity(measure: MeasureId, value: number, unit: string): string {
  if (measure === Measure.speed) return `${trimmed(Number(value.toFixed(4)), 3)} ${unit}`;
  if (measure === Measure.strain || measure === Measure.plasticStrain) return `${trimmed(Number((100 * value).toFixed(2)), 3)} %`;
  if (isPressure(measure)) return withPrefix(value, unit || 'Pa', 3);
  return value.toFixed(3);
}
