// Measures how long it takes from `./dev run FILE` to the first picture in a browser that is open already.
//
// first_picture.mjs [--json FILE] [--rounds N] [FILE...]    as `./dev bench picture` runs it; default: meshes that ship
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { kRoot, launchBrowser, openViewer } from '../../tests/e2e/harness.mjs';

const kShipped = ['rubber_pumpkin/pumpkin.stl', 'rubber_ladybird/ladybird.glb', 'mug/mug.obj'].map((path) =>
  join(kRoot, 'scenes', 'meshes', path),
);
const kGoal = 5; // s

const given = process.argv.slice(2);
const option = (name, otherwise) => {
  const at = given.indexOf(name);
  return at < 0 ? otherwise : given.splice(at, 2)[1];
};
const json = option('--json', '');
const rounds = Number(option('--rounds', 3));
const files = given.length > 0 ? given : kShipped;
const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

// Starts the server as a user does, opens its page, and returns the times of the address and of the first frame drawn [s].
async function measure(browser, file, cache) {
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  const child = spawn(join(kRoot, 'dev'), ['run', file, '--http-port', '0', '--grpc-port', '0'], {
    cwd: process.cwd(),
    env: { ...process.env, PLIANT_MESH_CACHE: cache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    let said = '';
    const url = await new Promise((resolve, reject) => {
      const listen = (text) => {
        said += text;
        const address = said.match(/http:\/\/[\w.[\]:]+:\d+/);
        if (address) resolve(address[0]);
      };
      child.stdout.on('data', listen);
      child.stderr.on('data', listen);
      child.once('exit', (status) => reject(new Error(`./dev run ${file} ended with ${status}:\n${said}`)));
    });
    const address = elapsed();
    const page = await openViewer(browser, url, { width: 1280, height: 800 });
    const picture = elapsed();
    await page.context().close();
    return { address, picture };
  } finally {
    child.kill('SIGINT');
    await ended;
  }
}

const browser = await launchBrowser();
const cache = mkdtempSync(join(tmpdir(), 'pliant-meshes-'));
const rows = [];
try {
  console.log(`${'file'.padEnd(28)} ${'address'.padStart(9)} ${'picture'.padStart(9)} ${'again'.padStart(9)}   goal ${kGoal} s`);
  for (const file of files) {
    const first = [];
    for (let i = 0; i < rounds; ++i) first.push(await measure(browser, file, ''));
    const again = [];
    for (let i = 0; i <= rounds; ++i) again.push(await measure(browser, file, cache));
    const row = {
      file: basename(file),
      address_s: median(first.map((times) => times.address)),
      picture_s: median(first.map((times) => times.picture)),
      picture_again_s: median(again.slice(1).map((times) => times.picture)), // with the mesh of the round before
      goal_s: kGoal,
    };
    rows.push(row);
    const numbers = [row.address_s, row.picture_s, row.picture_again_s].map((s) => `${s.toFixed(2)} s`.padStart(9));
    console.log(`${row.file.padEnd(28)} ${numbers.join(' ')}${row.picture_s > kGoal ? '   misses its goal' : ''}`);
  }
} finally {
  await browser.close();
  rmSync(cache, { recursive: true, force: true });
}
if (json) writeFileSync(json, `${JSON.stringify({ suite: 'picture', rounds, rows }, null, 2)}\n`);
