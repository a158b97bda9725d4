// Particles with the real server and a real browser: they are drawn, picked, coloured and shown as a surface.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser, openViewer, pixels, portray, resetWorld, Server, shoot, until } from './harness.mjs';

const kTest = { timeout: 300000 };
const kScene = `name: dough and water
time_step: 0.01
grid: {cell_size: 0.04}
bodies:
  - name: table
    rigid: {motion: FIXED, pose: {position: [0, 0, -0.05]}, shapes: [{box: {size: [0.8, 0.8, 0.1]}}]}
  - name: dough
    particles:
      fill: {box: {size: [0.2, 0.16, 0.12]}}
      pose: {position: [0, 0.1, 0.08]}
      velocity: {linear: [0.2, 0, 0]}
      material: {model: VON_MISES, youngs_modulus: 2.0e4, poissons_ratio: 0.45, yield_stress: 500, density: 1000}
  - name: water
    particles:
      fill: {sphere: {radius: 0.08}}
      pose: {position: [0, -0.2, 0.12]}
      material: {model: LIQUID, bulk_modulus: 1.0e4, density: 1000}
`;

let folder;
let server;
let browser;
let page;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pliant-particles-'));
  const scene = join(folder, 'particles.yaml');
  writeFileSync(scene, kScene);
  server = await Server.start(0, scene);
  browser = await launchBrowser();
  page = await openViewer(browser, server.url);
  await resetWorld(page);
  // the world ran until the page was open, and water may have run far off the table by then
  await page.click('#home');
});

after(async () => {
  await browser?.close();
  const status = await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
  assert.equal(status, 0, `the server ends cleanly when it is asked to:\n${server?.log}`);
});

// Number of coloured pixels; table, floor and background are nearly grey.
function countColoured(seen) {
  let coloured = 0;
  for (let i = 0; i < seen.length; i += 4) {
    const [r, g, b] = seen.slice(i, i + 3);
    if (Math.max(r, g, b) - Math.min(r, g, b) > 60) ++coloured;
  }
  return coloured;
}

test('particles are drawn where the server has them', kTest, async () => {
  const { dough, water } = await page.evaluate(() => pliant.points);
  assert.equal(dough.drawn, dough.count);
  assert.ok(dough.count > 300, `dough of ${dough.count} particles`);
  assert.ok(Math.abs(dough.centroid[2] - 0.08) < 0.002, `it starts at its pose, at ${dough.centroid}`);
  assert.ok(Math.abs(water.centroid[1] + 0.2) < 0.002, `as the water does, at ${water.centroid}`);
  const coloured = countColoured(await pixels(page));
  assert.ok(coloured > 400, `balls in the colours of their field cover the middle of the page; ${coloured} pixels do`);
  assert.deepEqual(page.errors, []);
});

test('the page offers the measures that some body has, and colours by them', kTest, async () => {
  const offered = await page.$$eval('#measure option:not([disabled])', (options) => options.map(({ textContent }) => textContent));
  assert.ok(offered.includes('Plastic strain') && offered.includes('Speed'), `offered: ${offered}`);
  assert.ok(!offered.includes('Contact pressure'), `points have no area: ${offered}`);
  await page.selectOption('#measure', { label: 'Speed' });
  await until(page, 'the dough moves at 0.2 m/s', () => Math.abs(pliant.points.dough.fieldMax - 0.2) < 1e-6 && pliant.points.dough.unit === 'm/s');
  await until(page, 'the legend has the unit', () => document.getElementById('field-now').textContent.includes('m/s'));
});

test('a click marks a particle, which the inspector follows', kTest, async () => {
  const [x, y] = await page.evaluate(() => pliant.screenPosition('dough'));
  await page.mouse.click(x, y);
  const picked = await page.evaluate(() => pliant.particle);
  assert.equal(picked.body, 'dough');
  assert.ok(Math.abs(picked.value - 0.2) < 1e-4, `it moves at ${picked.value} m/s`);
  assert.ok(picked.position.every((p, k) => Math.abs(p - [0, 0.1, 0.08][k]) < 0.12), `it is in the dough: ${picked.position}`);
  const text = await page.textContent('#particle');
  assert.ok(text.includes(`Particle ${picked.number} of “dough”`) && text.includes('m/s'), text);
  assert.equal(await page.inputValue('#selected'), 'dough');

  // it keeps its number while it moves
  await page.click('#step');
  await until(page, 'it has moved by a step', ([number, from]) => {
    const now = pliant.particle;
    return now.number === number && Math.abs(now.position[0] - from - 0.002) < 2e-4;
  }, [picked.number, picked.position[0]]);
  await shoot(page, 'particles_picked');

  // selecting another body clears the mark
  await page.selectOption('#selected', 'table');
  assert.equal(await page.evaluate(() => pliant.particle), null);
  assert.ok(await page.isHidden('#particle'));
});

test('the balls become a surface and balls again', kTest, async () => {
  const balls = await pixels(page);
  await page.click('#surface');
  assert.equal(await page.getAttribute('#surface', 'aria-pressed'), 'true');
  let surface;
  for (let i = 0; i < 50; ++i) {
    surface = await pixels(page);
    if (surface.some((value, k) => Math.abs(value - balls[k]) > 30)) break;
  }
  const coloured = [countColoured(balls), countColoured(surface)];
  assert.ok(coloured[1] > 0.6 * coloured[0], `it covers about as much: ${coloured} pixels`);
  // pixels that differ from their right neighbour: the surface has fewer of them, even at the reduced resolution of a busy machine
  const edges = (seen) => seen.filter((value, k) => Math.abs(value - (seen[k + 4] ?? value)) > 24).length;
  assert.ok(edges(surface) < edges(balls), `it is smooth: ${edges(surface)} edges, ${edges(balls)} between balls`);
  await portray(browser, page, 'particles_surface', { prepare: (viewer) => viewer.click('#surface') });
  await page.click('#surface');
  await portray(browser, page, 'particles_balls');
  assert.deepEqual(page.errors, []);
});
