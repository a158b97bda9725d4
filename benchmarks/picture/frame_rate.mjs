// Measures how many frames per second the page draws of a body of particles while its view is turned, with the software renderer.
//
// frame_rate.mjs [--json FILE] [--particles N] [--seconds S]    as `./dev bench frames` runs it
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchBrowser, openViewer, resetWorld, Server } from '../../tests/e2e/harness.mjs';

const kGoal = 15; // frames per second, with 30,000 particles drawn as balls
const kWindows = 4; // in the first ones the page lowers its resolution

const given = process.argv.slice(2);
const option = (name, otherwise) => {
  const at = given.indexOf(name);
  return at < 0 ? otherwise : given[at + 1];
};
const json = option('--json', '');
const particles = Number(option('--particles', 30000));
const seconds = Number(option('--seconds', 5));

// A block of dough, twice as wide as high, of about as many particles.
function scene() {
  const cell = 0.01;
  const height = cell * Math.cbrt(particles / 8 / 4);
  return `name: block
time_step: 0.01
grid: {cell_size: ${cell}}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: dough
    particles:
      fill: {box: {size: [${2 * height}, ${2 * height}, ${height}]}}
      per_cell: 8
      layout: LATTICE
      pose: {position: [0, 0, ${0.6 * height}]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.0e4, poissons_ratio: 0.3, density: 1000}
`;
}

// Turns the view for some seconds, and returns the rate of animation frames in which something was drawn [1/s].
async function turn(page) {
  await page.evaluate(() => {
    window.drawn = new Set();
    const { prototype } = WebGL2RenderingContext;
    window.drawElements ??= prototype.drawElements;
    prototype.drawElements = function (...given) {
      window.drawn.add(document.timeline.currentTime); // the same throughout a frame
      return window.drawElements.apply(this, given);
    };
  });
  await page.mouse.move(500, 400);
  await page.mouse.down();
  const start = performance.now();
  for (let k = 0; performance.now() - start < 1000 * seconds; ++k)
    await page.mouse.move(500 + 150 * Math.sin(k / 10), 400 + 20 * Math.cos(k / 10));
  const rate = (await page.evaluate(() => window.drawn.size)) / ((performance.now() - start) / 1000);
  await page.mouse.up();
  return rate;
}

const folder = mkdtempSync(join(tmpdir(), 'pliant-frames-'));
const browser = await launchBrowser();
const rows = [];
try {
  const file = join(folder, 'block.yaml');
  writeFileSync(file, scene());
  const server = await Server.start(0, file);
  try {
    const page = await openViewer(browser, server.url, { width: 1280, height: 800 });
    await resetWorld(page); // paused, so that the browser has all processors
    const { count } = await page.evaluate(() => window.pliant.points.dough);
    console.log(`${count} particles, ${seconds} s each: frames per second, goal ${kGoal} for 30,000 balls`);
    for (const look of ['balls', 'surface']) {
      if (look === 'surface') await page.click('#surface');
      for (let k = 0; k < kWindows; ++k) {
        const rate = await turn(page);
        const goal = look === 'balls' ? { goal_frames_per_s: kGoal } : {};
        rows.push({ look, particles: count, window: k, frames_per_s: rate, ...goal });
        console.log(`${look.padEnd(8)} ${rate.toFixed(1).padStart(6)}`);
      }
    }
  } finally {
    await server.stop();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
if (json) writeFileSync(json, `${JSON.stringify({ suite: 'frames', rows }, null, 2)}\n`);
