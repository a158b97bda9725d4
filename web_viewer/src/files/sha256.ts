// Incremental SHA-256 (FIPS 180-4). The browser's own takes all data at once, and only on secure pages.

// First 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8.
const kPrimes = firstPrimes(64);
const kRound = Int32Array.from(kPrimes, (p) => fraction(Math.cbrt(p)));
const kStart = Int32Array.from(kPrimes.slice(0, 8), (p) => fraction(Math.sqrt(p)));
const kBlock = 64; // [B]

export class Sha256 {
  private readonly state = kStart.slice();
  private readonly words = new Int32Array(64);
  private readonly rest = new Uint8Array(kBlock); // an incomplete block
  private length = 0; // of all data [B]

  add(bytes: Uint8Array): void {
    let at = 0;
    const filled = this.length % kBlock;
    this.length += bytes.length;
    if (filled > 0) {
      at = Math.min(kBlock - filled, bytes.length);
      this.rest.set(bytes.subarray(0, at), filled);
      if (filled + at < kBlock) return;
      this.compress(this.rest, 0);
    }
    for (; at + kBlock <= bytes.length; at += kBlock) this.compress(bytes, at);
    this.rest.set(bytes.subarray(at), 0);
  }

  // The digest in hexadecimal digits. Ends the data.
  finish(): string {
    const bits = this.length * 8;
    const end = new Uint8Array(((this.length % kBlock < 56 ? 1 : 2) * kBlock) - (this.length % kBlock));
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.add(end);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  private compress(bytes: Uint8Array, at: number): void {
    const w = this.words;
    for (let i = 0; i < 16; ++i, at += 4) {
      w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 16; i < 64; ++i) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const low = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
      const high = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
      w[i] = (w[i - 16] + low + w[i - 7] + high) | 0;
    }
    const s = this.state;
    let [a, b, c, d, e, f, g, h] = s;
    for (let i = 0; i < 64; ++i) {
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i]) | 0;
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
  }
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function fraction(x: number): number {
  return Math.floor((x - Math.floor(x)) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; ++n) if (primes.every((p) => n % p !== 0)) primes.push(n);
  return primes;
}
