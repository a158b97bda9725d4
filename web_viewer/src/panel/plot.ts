// A small live plot of one quantity over the last seconds of simulated time.
import { roundUp } from '../scene/range';
import { withPrefix } from './units';

const kSpan = 6; // [s]

export class Plot {
  private readonly times: number[] = [];
  private readonly values: number[] = [];
  private top = 1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly unit: string,
  ) {}

  clear(): void {
    this.times.length = this.values.length = 0;
    this.top = 1;
  }

  add(time: number, value: number): void {
    const last = this.times.at(-1);
    if (last !== undefined && time <= last) {
      if (time === last) return;
      this.clear(); // time went back: the world was reset or restored
    }
    this.times.push(time);
    this.values.push(value);
    let old = 0;
    while (old < this.times.length - 2 && this.times[old + 1] < time - kSpan) ++old;
    if (old > 120) {
      this.times.splice(0, old);
      this.values.splice(0, old);
    }
  }

  draw(): void {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (width === 0 || height === 0) return;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const pen = this.canvas.getContext('2d');
    if (!pen) return;
    pen.clearRect(0, 0, width, height);

    // the scale grows at once, and shrinks only when less than 45 % of it is used
    const now = this.times.at(-1) ?? 0;
    const highest = this.values.reduce((most, value, i) => (this.times[i] > now - kSpan ? Math.max(most, value) : most), 0);
    const wanted = roundUp(Math.max(highest * 1.05, 0.1));
    this.top = wanted > this.top || highest < 0.45 * this.top ? wanted : this.top;

    const foot = height - ratio;
    const head = 13 * ratio;
    const x = (time: number) => width * (1 - (now - time) / kSpan);
    const y = (value: number) => foot - (foot - head) * (value / this.top);
    pen.strokeStyle = '#dde3ea';
    pen.lineWidth = ratio;
    pen.beginPath();
    for (const level of [0, 0.5, 1]) {
      pen.moveTo(0, y(level * this.top));
      pen.lineTo(width, y(level * this.top));
    }
    pen.stroke();
    pen.fillStyle = '#8592a3';
    pen.font = `${10.5 * ratio}px system-ui, sans-serif`;
    pen.fillText(withPrefix(this.top, this.unit), 0, head - 4 * ratio);
    pen.textAlign = 'right';
    pen.fillText(`last ${kSpan} s`, width, head - 4 * ratio);
    pen.textAlign = 'left';
    if (this.times.length < 2) return;

    pen.beginPath();
    this.times.forEach((time, i) => (i === 0 ? pen.moveTo(x(time), y(this.values[i])) : pen.lineTo(x(time), y(this.values[i]))));
    pen.strokeStyle = '#ff7a3d';
    pen.lineWidth = 1.8 * ratio;
    pen.lineJoin = 'round';
    pen.stroke();
    pen.lineTo(width, foot);
    pen.lineTo(x(this.times[0]), foot);
    pen.closePath();
    const fill = pen.createLinearGradient(0, head, 0, foot);
    fill.addColorStop(0, 'rgb(255 122 61 / 0.28)');
    fill.addColorStop(1, 'rgb(255 122 61 / 0.02)');
    pen.fillStyle = fill;
    pen.fill();
  }
}
