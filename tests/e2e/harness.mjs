// Runs the real server and a real browser for tests. Every process is ended through its own handle.
//
// PLIANTD             path of the server; default build/release/bin/pliantd. Beside it is pliantd_recipes
// CHROMIUM            path of the browser; default /usr/bin/chromium
// PLIANT_SCREENSHOTS  folder for screenshots; default: none are taken
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const kRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { chromium } = createRequire(join(kRoot, 'web_viewer', 'package.json'))('playwright-core');

export const kWaitMs = 90000; // generous, because a busy or slow machine renders and simulates on the same core
const kAgainMs = 10000; // after this time an action is repeated

export const kBinary = process.env.PLIANTD ?? join(kRoot, 'build', 'release', 'bin', 'pliantd');

// The same server with the body of docs/extending.md.
export const kRecipesBinary = join(dirname(kBinary), 'pliantd_recipes');

// A running server with a scene, given relative to the repository root. `port` 0: any free port.
export class Server {
  static async start(port = 0, scene = join('scenes', 'soft_ball.yaml'), flags = [], binary = kBinary) {
    const args = ['serve', ...(scene ? ['--scene', scene] : []), '--grpc-port', '0', '--http-port', String(port), ...flags];
    const child = spawn(binary, args, { cwd: kRoot, stdio: ['ignore', 'pipe', 'pipe'] });
    const server = new Server(child, binary);
    try {
      server.url = await server.#ready();
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    return server;
  }

  constructor(child, binary) {
    this.child = child;
    this.binary = binary;
    this.log = '';
    this.ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  }

  get port() {
    return Number(new URL(this.url).port);
  }

  // Kills the server, as in a crash.
  async kill() {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  // Stops the server as Ctrl-C does, and returns its exit status.
  async stop() {
    this.child.kill('SIGINT');
    const stuck = setTimeout(() => this.child.kill('SIGKILL'), 15000);
    const { code, signal } = await this.ended;
    clearTimeout(stuck);
    return signal ?? code;
  }

  #ready() {
    return new Promise((resolve, reject) => {
      const fail = (why) => reject(new Error(`${this.binary}: ${why}\n${this.log}`));
      const late = setTimeout(() => fail('did not become ready within 60 s'), 60000);
      let line = '';
      const keepLog = (text) => (this.log = (this.log + text).slice(-20000));
      this.child.stderr.on('data', keepLog);
      this.child.stdout.on('data', (text) => {
        keepLog(text);
        line += text;
        if (!line.includes('\n')) return;
        clearTimeout(late);
        try {
          const ready = JSON.parse(line.split('\n')[0]);
          if (ready.ready === true) resolve(ready.http);
          else fail('the first line does not say that it is ready');
        } catch {
          fail('the first line is not JSON');
        }
      });
      this.child.once('error', (error) => fail(error.message));
      this.child.once('exit', (code, signal) => fail(`ended with ${signal ?? code} before it was ready`));
    });
  }
}

// Playwright creates a new profile folder for every launch and removes it at the end.
export function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-dev-shm-usage', // /dev/shm is small in containers
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

// Opens a page with its own profile that shows the world, with a simulated gamepad: setPad([axes], {button: value}),
// pullOutPad(). While window.tenacious is set, a lost or refused lease makes the page release the control and take it again, as
// a person would: leases lapse when the machine stalls for a second.
export async function openViewer(browser, url, { width = 800, height = 560, query = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height } });
  const page = await context.newPage();
  page.setDefaultTimeout(kWaitMs);
  page.errors = [];
  page.on('pageerror', (error) => page.errors.push(error.message));
  await page.addInitScript(() => {
    // every page counts as focused; losing the focus releases all controls
    let lifted = false;
    document.hasFocus = () => !lifted;
    window.tenacious = true;
    setInterval(() => {
      lifted = window.tenacious && ['lost', 'refused'].includes(window.pliant?.lease.state) && !lifted;
    }, 150);

    let pad = null;
    navigator.getGamepads = () => [pad];
    window.setPad = (axes, buttons = {}) => {
      pad = {
        connected: true,
        mapping: 'standard',
        id: 'Test pad',
        index: 0,
        axes,
        buttons: Array.from({ length: 17 }, (_, i) => ({ pressed: (buttons[i] ?? 0) > 0.5, value: buttons[i] ?? 0 })),
      };
    };
    window.pullOutPad = () => {
      pad = null;
    };
  });
  await page.goto(url + query);
  await until(page, 'the page shows a first frame', () => pliant.connection.state === 'live' && pliant.framesDrawn > 0);
  return page;
}

// Waits for a condition in the page. On time-out, throws an error with its name and the state of the page.
export async function until(page, what, condition, argument, timeout = kWaitMs) {
  try {
    await page.waitForFunction(() => window.pliant, null, { timeout, polling: 50 }); // after a load of the page
    await page.waitForFunction(condition, argument, { timeout, polling: 50 });
  } catch (error) {
    const known = await page
      .evaluate(() => {
        const { connection, frame, rigid, soft, forces, leases, drivers, robots, contacts } = window.pliant ?? {};
        return JSON.stringify({ connection, frame, rigid, soft, forces, leases, drivers, robots, contacts });
      })
      .catch(() => 'nothing');
    throw new Error(`waited ${timeout / 1000} s in vain until ${what}; the page knows ${known} (${error.message})`);
  }
}

// Performs an action and waits for its effect. Repeats the action, as a person would, if it was lost because the machine
// stalled.
export async function bring(page, what, act, condition, argument) {
  for (let waited = 0; ; waited += kAgainMs) {
    await act();
    try {
      return await until(page, what, condition, argument, kAgainMs);
    } catch (error) {
      if (waited >= kWaitMs) throw error;
    }
  }
}

// Pauses and resets the world, and waits until its initial state is shown.
export async function resetWorld(page) {
  await page.evaluate(() => window.pullOutPad());
  if (await page.evaluate(() => pliant.frame.clock !== 'paused')) await page.click('#run');
  await until(page, 'the world is paused', () => pliant.frame.clock === 'paused');
  const epoch = await page.evaluate(() => pliant.frame.epoch);
  await page.click('#reset');
  await until(page, 'the world is reset', (before) => pliant.frame.epoch !== before && pliant.frame.step === 0, epoch);
}

export async function runWorld(page) {
  if (await page.evaluate(() => pliant.frame.clock === 'paused')) await page.click('#run');
  await until(page, 'the world runs', () => pliant.frame.clock !== 'paused' && pliant.frame.step > 0);
}

// Waits until no component of `value()`, evaluated in the page, changes by more than `tolerance` within `seconds` of simulated
// time.
export async function settled(page, what, value, tolerance, seconds = 0.4) {
  // once, since the page's policy forbids functions made from text later
  await page.evaluate(`window.settling = null; window.settlingValue = ${value}`);
  await until(
    page,
    what,
    ([limit, span]) => {
      const now = { time: pliant.frame.time, value: window.settlingValue() };
      const from = window.settling;
      const moved = from && Math.max(...now.value.map((x, i) => Math.abs(x - from.value[i]))) > limit;
      if (!from || moved || now.time < from.time) {
        window.settling = now;
        return false;
      }
      return now.time - from.time >= span;
    },
    [tolerance, seconds],
  );
}

// Returns the middle part of the page, scaled to size × size pixels: [r, g, b, a, …].
export async function pixels(page, size = 96) {
  const { width, height } = page.viewportSize();
  const clip = { x: width * 0.15, y: height * 0.15, width: width * 0.4, height: height * 0.5 };
  const png = (await page.screenshot({ clip })).toString('base64');
  return page.evaluate(
    async ([data, side]) => {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const canvas = new OffscreenCanvas(side, side);
      const pen = canvas.getContext('2d');
      pen.drawImage(image, 0, 0, side, side);
      return [...pen.getImageData(0, 0, side, side).data];
    },
    [png, size],
  );
}

// Takes a screenshot of this page as it is.
export async function shoot(page, name) {
  const folder = process.env.PLIANT_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

// Takes a full-quality screenshot of the world, paused, in a separate page.
export async function portray(browser, page, name, { width = 1280, height = 800, prepare = async () => {} } = {}) {
  const folder = process.env.PLIANT_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const wasRunning = await page.evaluate(() => pliant.frame.clock !== 'paused');
  if (wasRunning) await page.click('#run');
  await until(page, 'the world is paused', () => pliant.frame.clock === 'paused');
  const viewer = await openViewer(browser, new URL(page.url()).origin, { width, height, query: '/?quality=1' });
  await prepare(viewer);
  await until(viewer, 'the eased force has arrived', () => {
    const name = document.getElementById('selected').value;
    const parts = Object.entries(pliant.forces).filter(([body]) => body === name || body.startsWith(`${name}/`));
    const force = Math.hypot(...[0, 1, 2].map((k) => parts.reduce((sum, [, each]) => sum + each.force[k], 0)));
    return Math.abs(parseFloat(document.getElementById('force').textContent) - force) < 0.06 + 0.02 * force;
  });
  await viewer.screenshot({ path: join(folder, `${name}.png`) });
  await viewer.context().close();
  if (wasRunning) await runWorld(page);
}
