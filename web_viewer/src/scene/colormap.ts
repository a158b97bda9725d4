// Colour maps of scalar fields. Both are defined in OKLCH, which is perceptually uniform: the sequential map brightens evenly
// from indigo through teal to yellow; the diverging map is pale at the reference value and dark on either side.

export type Rgb = [number, number, number]; // sRGB, 0 … 1

export const kTableSize = 256;

export function sequentialColor(t: number): Rgb {
  const s = Math.min(1, Math.max(0, t));
  const lightness = 0.46 + 0.47 * s;
  const hue = 282 - 182 * s ** 0.85;
  const chroma = 0.118 + 0.057 * (2 * s - 1) ** 2;
  return oklchToRgb(lightness, chroma, hue);
}

export function divergingColor(t: number): Rgb {
  const s = 2 * Math.min(1, Math.max(0, t)) - 1;
  const lightness = 0.95 - 0.48 * Math.abs(s) ** 1.1;
  const chroma = 0.008 + 0.16 * Math.abs(s);
  return oklchToRgb(lightness, chroma, s < 0 ? 255 : 32);
}

// Samples a colour map on [0, 1] as RGBA bytes.
export function colorTable(map: (t: number) => Rgb, size = kTableSize): Uint8Array<ArrayBuffer> {
  const table = new Uint8Array(size * 4);
  for (let i = 0; i < size; ++i) {
    const color = map(i / (size - 1));
    for (let k = 0; k < 3; ++k) table[i * 4 + k] = Math.round(255 * color[k]);
    table[i * 4 + 3] = 255;
  }
  return table;
}

// Converts OKLCH to sRGB. Colours outside the gamut lose chroma, but keep hue and lightness.
export function oklchToRgb(lightness: number, chroma: number, hueDegrees: number): Rgb {
  const hue = (hueDegrees * Math.PI) / 180;
  const linear = (c: number): Rgb => oklabToLinear(lightness, c * Math.cos(hue), c * Math.sin(hue));
  const fits = (c: number): boolean => linear(c).every((x) => x > -1e-4 && x < 1 + 1e-4);

  // bisect for the largest chroma within the gamut
  let [low, high] = fits(chroma) ? [chroma, chroma] : [0, chroma];
  for (let i = 0; i < 24 && low < high; ++i) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return linear(low).map((x) => encode(Math.min(1, Math.max(0, x)))) as Rgb;
}

// OKLab lightness of an sRGB colour.
export function perceivedLightness([r, g, b]: Rgb): number {
  const [x, y, z] = [decode(r), decode(g), decode(b)];
  const l = Math.cbrt(0.4122214708 * x + 0.5363325363 * y + 0.0514459929 * z);
  const m = Math.cbrt(0.2119034982 * x + 0.6806995451 * y + 0.1073969566 * z);
  const s = Math.cbrt(0.0883024619 * x + 0.2817188376 * y + 0.6299787005 * z);
  return 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s;
}

function oklabToLinear(lightness: number, a: number, b: number): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function encode(x: number): number {
  return x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
}

function decode(x: number): number {
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
}
