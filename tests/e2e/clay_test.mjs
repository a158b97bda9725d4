// The page draws the body of docs/extending.md like any other: with a server that is built with it and a real browser.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { kRecipesBinary, launchBrowser, openViewer, pixels, resetWorld, runWorld, Server, shoot, until } from './harness.mjs';

const kScene = `name: clay
time_step: 0.002
bodies:
  - name: slab
    rigid: {motion: FIXED, pose: {position: [0, 0, -0.05]}, shapes: [{box: {size: [0.6, 0.6, 0.1]}}]}
  - name: lump
    custom:
      kind: CLAY
      mesh: {box: {size: [0.12, 0.12, 0.12]}, edge_length: 0.03}
      pose: {position: [0, 0, 0.12]}
      density: 1500
      parameters: {cell_size: 0.04, bulk_modulus: 2.0e4, yield: 0.02}
`;

let folder;
let server;
let browser;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pliant-clay-'));
  const scene = join(folder, 'clay.yaml');
  writeFileSync(scene, kScene);
  server = await Server.start(0, scene, [], kRecipesBinary);
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  const status = await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
  assert.equal(status, 0, `the server ends cleanly when it is asked to:\n${server?.log}`);
});

test('a body of docs/extending.md is drawn where it is, and falls', { timeout: 300000 }, async () => {
  const page = await openViewer(browser, server.url);
  await resetWorld(page);
  const start = await page.evaluate(() => pliant.soft.lump);
  assert.ok(Math.abs(start.centroid[2] - 0.12) < 1e-3, `it starts at its pose, at ${start.centroid}`);
  await page.selectOption('#measure', { label: 'Volume ratio' });
  await until(page, 'its volume ratio is shown', () => Math.abs(pliant.soft.lump.fieldMax - 1) < 1e-3);
  const above = await pixels(page);
  await runWorld(page);
  await until(page, 'it lies on the slab', () => pliant.soft.lump.centroid[2] < 0.075);
  const below = await pixels(page);
  assert.ok(above.some((value, k) => Math.abs(value - below[k]) > 30), 'the picture shows that it has fallen');
  await shoot(page, 'clay');
  assert.deepEqual(page.errors, []);
});
