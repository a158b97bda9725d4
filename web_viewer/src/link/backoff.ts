// Exponential back-off between connection attempts: 0.3 s, growing to 5 s, with ±20 % jitter so that many pages do not
// reconnect at once.
export class Backoff {
  private attempts = 0;

  constructor(private readonly random: () => number = Math.random) {}

  nextMs(): number {
    const base = Math.min(5000, 300 * 1.6 ** this.attempts);
    this.attempts += 1;
    return base * (0.8 + 0.4 * this.random());
  }

  reset(): void {
    this.attempts = 0;
  }
}
