// Formatting of numbers with units.

export function withPrefix(value: number, unit: string, digits = 3): string {
  const steps: [number, string][] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ']];
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return '–';
  if (size < 1e-9) return `0 ${unit}`;
  const [scale, prefix] = steps.find(([step]) => size >= step * 0.9995) ?? steps[steps.length - 1];
  return `${trimmed(value / scale, digits)} ${prefix}${unit}`;
}

// Formats with a number of significant digits, without trailing zeros.
export function trimmed(value: number, digits: number): string {
  if (value === 0) return '0';
  const text = value.toPrecision(digits);
  return text.includes('e') ? Number(text).toString() : text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

export function milliseconds(ms: number): string {
  if (!(ms >= 0)) return '–';
  if (ms === 0) return '0 ms';
  return ms < 0.1 ? `${trimmed(ms * 1000, 2)} µs` : ms < 10 ? `${ms.toFixed(2)} ms` : `${ms.toFixed(0)} ms`;
}

export function bytesPerSecond(rate: number): string {
  return rate < 1e6 ? `${(rate / 1e3).toFixed(0)} kB/s` : `${(rate / 1e6).toFixed(1)} MB/s`;
}

// Formats a force in newtons, with a fixed number of decimals per range so that the digits stay steady.
export function newtons(force: number): string {
  return forces([force]);
}

// Formats the components of a force with one prefix, that of the largest.
export function forces(parts: number[]): string {
  const largest = Math.max(...parts.map(Math.abs));
  if (!Number.isFinite(largest)) return '–';
  const [scale, prefix] = largePrefix(largest);
  const digits = decimals(largest / scale);
  const numbers = parts.map((x) => withoutMinusZero((x / scale).toFixed(digits)));
  return `${numbers.join('  ')} ${prefix}N`;
}

// Formats a joint position: degrees for rotating joints, millimetres or metres for sliding ones.
export function jointPosition(q: number, slides: boolean): string {
  return slides ? metres(q) : `${tenths((180 / Math.PI) * q)}°`;
}

export function jointRate(v: number, slides: boolean): string {
  return slides ? `${metres(v)}/s` : `${tenths((180 / Math.PI) * v)}°/s`;
}

export function jointEffort(effort: number, slides: boolean): string {
  if (!Number.isFinite(effort)) return '–';
  const [scale, prefix] = largePrefix(Math.abs(effort));
  const size = Math.abs(effort) / scale;
  const digits = scale > 1 ? decimals(size) : size < 1 ? 2 : size < 100 ? 1 : 0;
  return `${withoutMinusZero((effort / scale).toFixed(digits))} ${prefix}${slides ? 'N' : 'N·m'}`;
}

// Factor and SI prefix for numbers from a thousand on.
function largePrefix(size: number): [number, string] {
  const steps: [number, string][] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  return steps.find(([step]) => size >= step * 0.9995) ?? [1, ''];
}

function decimals(size: number): number {
  return size < 10 ? 2 : size < 100 ? 1 : 0;
}

function metres(x: number): string {
  return Math.abs(x) < 0.99995 ? `${tenths(1000 * x)} mm` : `${withoutMinusZero(x.toFixed(3))} m`;
}

function tenths(value: number): string {
  return withoutMinusZero(value.toFixed(1));
}

function withoutMinusZero(text: string): string {
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text;
}
