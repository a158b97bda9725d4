// The viewer with the real server and a real browser: what a user of the default scene sees and does.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  bring,
  launchBrowser,
  openViewer,
  pixels,
  portray,
  resetWorld,
  runWorld,
  Server,
  shoot,
  settled,
  until,
} from './harness.mjs';

const kTest = { timeout: 300000 };
const paddle = () => pliant.rigid.paddle.position;
const ball = () => pliant.soft.ball.centroid;

let server;
let browser;
let page;

before(async () => {
  server = await Server.start();
  browser = await launchBrowser();
  page = await openViewer(browser, server.url);
});

after(async () => {
  await browser?.close();
  const status = await server?.stop();
  assert.equal(status, 0, `the server ends cleanly when it is asked to:\n${server?.log}`);
});

test('the canvas shows the scene', kTest, async () => {
  await resetWorld(page);
  const seen = await pixels(page);
  const colours = new Set();
  let orange = 0;
  for (let i = 0; i < seen.length; i += 4) {
    const [r, g, b] = seen.slice(i, i + 3);
    colours.add(`${r >> 3} ${g >> 3} ${b >> 3}`);
    if (r > 150 && r > g * 1.5 && g > b) ++orange;
  }
  assert.ok(colours.size > 40, `a lit scene has many colours, this one has ${colours.size}`);
  assert.ok(orange > 0.005 * (seen.length / 4), `the paddle is orange; ${orange} pixels are`);
});

test('the picture is never blank while the window changes its size', kTest, async () => {
  const viewer = await openViewer(browser, server.url);
  // keep what is drawn, so that it can be read after it is shown; else the browser discards it
  await viewer.addInitScript(() => {
    const getContext = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
      return getContext.call(this, kind, kind === 'webgl2' ? { ...options, preserveDrawingBuffer: true } : options);
    };
  });
  await viewer.reload();
  await until(viewer, 'the page shows a frame', () => pliant.connection.state === 'live' && pliant.framesDrawn > 2);
  await viewer.evaluate(() => {
    const canvas = document.getElementById('view');
    const pen = new OffscreenCanvas(16, 16).getContext('2d', { willReadFrequently: true });
    const sizes = new Set();
    window.looks = { blank: 0, pictures: 0, sizes: 0 };
    const look = () => {
      pen.clearRect(0, 0, 16, 16);
      pen.drawImage(canvas, 0, 0, 16, 16);
      const seen = pen.getImageData(0, 0, 16, 16).data.some((value) => value > 0);
      sizes.add(`${canvas.width} ${canvas.height}`);
      window.looks = { blank: looks.blank + (seen ? 0 : 1), pictures: looks.pictures + 1, sizes: sizes.size };
    };
    // a message that is posted in an animation frame arrives after that frame is shown
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = look;
    const post = () => {
      port2.postMessage(null);
      requestAnimationFrame(post);
    };
    requestAnimationFrame(post);
  });
  for (let i = 1; i <= 8; ++i) {
    const { pictures, sizes } = await viewer.evaluate(() => looks);
    await viewer.setViewportSize({ width: 800 - 20 * i, height: 560 - 10 * i });
    await until(viewer, 'the picture has a new size', (before) => looks.sizes > before, sizes);
    await until(viewer, 'more pictures are seen', (before) => looks.pictures > before + 3, pictures);
  }
  const { blank, pictures } = await viewer.evaluate(() => looks);
  assert.equal(blank, 0, `${blank} of ${pictures} pictures were blank`);
  assert.deepEqual(viewer.errors, []);
  await viewer.context().close();
});

test('the ball falls, deforms and comes to rest on the table', kTest, async () => {
  await resetWorld(page);
  const start = await page.evaluate(ball);
  assert.ok(start[2] > 0.15, `it starts in the air, at ${start[2]} m`);

  // step to the impact one step at a time, so that it is shown however slowly the page draws
  for (let i = 0; i < 60 && (await page.evaluate(() => pliant.soft.ball.fieldMax)) < 0.1; ++i) {
    const step = await page.evaluate(() => pliant.frame.step);
    await page.click('#step');
    await until(page, 'the step is shown', (before) => pliant.frame.step > before, step);
  }
  // continue until the ball is flattest
  let [impact, height] = [0, Infinity];
  for (let i = 0; i < 20; ++i) {
    const [strain, now, step] = await page.evaluate(() => {
      const { fieldMax, low, high } = pliant.soft.ball;
      return [fieldMax, high[2] - low[2], pliant.frame.step];
    });
    impact = Math.max(impact, strain);
    if (now >= height) break;
    height = now;
    await page.click('#step');
    await until(page, 'the step is shown', (before) => pliant.frame.step > before, step);
  }
  assert.ok(height < 0.095, `it is flattened on impact: ${height} m high`);
  await portray(browser, page, 'impact');

  await runWorld(page);
  await settled(page, 'the ball rests', ball, 2e-4);
  const rest = await page.evaluate(() => pliant.soft.ball);
  await portray(browser, page, 'rest');
  assert.ok(rest.centroid[2] > 0.04 && rest.centroid[2] < 0.05, `its centre is ${rest.centroid[2]} m above the table`);
  assert.ok(Math.abs(rest.low[2]) < 0.002, `its lowest point touches the table: ${rest.low[2]} m`);
  assert.ok(impact > 1.5 * rest.fieldMax, `strain is larger on impact (${impact}) than at rest (${rest.fieldMax})`);
  assert.ok(rest.vertices >= 500, `${rest.vertices} vertices`);
  const weight = await page.evaluate(() => pliant.forces.ball.force[2]);
  assert.ok(weight > 4 && weight < 6, `the table carries its weight: ${weight} N`);
});

test('the panel and the legend show numbers in units', kTest, async () => {
  await runWorld(page);
  const text = async (id) => (await page.textContent(id)).trim();
  await until(page, 'the rate is shown', () => /^\d+\.\d\d×$/.test(document.getElementById('rate').textContent));
  assert.match(await text('#step-time'), /^[\d.]+ (ms|µs)$/);
  assert.match(await text('#contacts'), /^\d+$/);
  assert.match(await text('#force'), /^[\d.]+ N$/);
  assert.match(await text('#legend-ticks'), /%/);
  await page.selectOption('#measure', '2');
  await until(page, 'stress is shown', () => pliant.soft.ball.measure === 2 && pliant.soft.ball.fieldMax > 10);
  await until(page, 'the legend is in pascal', () => /Pa/.test(document.getElementById('legend-ticks').textContent));
  await page.selectOption('#measure', '3');
  await until(page, 'the volume ratio is shown', () => {
    const { measure, fieldMin, fieldMax } = pliant.soft.ball;
    return measure === 3 && fieldMin > 0.5 && fieldMin <= 1 && fieldMax < 1.5;
  });
  await page.selectOption('#measure', '1');
  await until(page, 'strain is shown again', () => pliant.soft.ball.measure === 1);
});

test('the paddle obeys a key, and rests when it is let go', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  const start = await page.evaluate(paddle);
  await page.keyboard.down('KeyE');
  await until(page, 'the paddle rises by 3 cm', (z) => pliant.rigid.paddle.position[2] > z + 0.03, start[2]);
  await until(page, 'all see who drives', () => pliant.drivers.some((d) => d.client === pliant.client && d.target === 'paddle'));
  await page.keyboard.up('KeyE');
  await settled(page, 'the paddle rests', paddle, 1e-9);
  const end = await page.evaluate(paddle);
  assert.ok(Math.abs(end[0] - start[0]) < 1e-9 && Math.abs(end[1] - start[1]) < 1e-9, 'it rose straight up');
  await until(page, 'the lease is given back', () => pliant.lease.state === 'none' && pliant.drivers.length === 0);
});

test('the paddle rests when the page loses the focus, though the key is held', kTest, async () => {
  const start = await page.evaluate(paddle);
  await page.keyboard.down('KeyE');
  await until(page, 'the paddle rises by 1 cm', (z) => pliant.rigid.paddle.position[2] > z + 0.01, start[2]);
  await page.evaluate(() => window.dispatchEvent(new Event('blur')));
  await settled(page, 'the paddle rests', paddle, 1e-9);
  await page.keyboard.up('KeyE');
});

test('keys move in the frame of the eye', kTest, async () => {
  const start = await page.evaluate(paddle);
  await page.keyboard.down('ArrowUp');
  await until(page, 'the paddle moves by 2 cm', ([x, y]) => {
    const [px, py] = pliant.rigid.paddle.position;
    return Math.hypot(px - x, py - y) > 0.02;
  }, start);
  await page.keyboard.up('ArrowUp');
  const [end, heading] = await page.evaluate(() => [pliant.rigid.paddle.position, pliant.heading]);
  const off = Math.atan2(end[1] - start[1], end[0] - start[0]) - heading;
  assert.ok(Math.abs(Math.sin(off)) < 0.02 && Math.cos(off) > 0, `it moved ${off} rad off the line of sight`);
});

test('the mouse drags the paddle', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  const start = await page.evaluate(paddle);
  const at = await page.evaluate(() => pliant.screenPosition('paddle'));
  await page.mouse.move(at[0], at[1]);
  await page.mouse.down();
  await page.mouse.move(at[0] - 60, at[1] + 20, { steps: 4 });
  await until(page, 'the paddle follows by 2 cm', ([x, y]) => {
    const [px, py] = pliant.rigid.paddle.position;
    return Math.hypot(px - x, py - y) > 0.02;
  }, start);
  await page.mouse.up();
  await settled(page, 'the paddle rests', paddle, 1e-9);
  assert.ok(Math.abs((await page.evaluate(paddle))[2] - start[2]) < 1e-9, 'it stayed at its height');
});

test('the mouse pulls the soft ball by a spring while Ctrl is held', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  await settled(page, 'the ball rests', ball, 2e-4);
  const [, , rest] = await page.evaluate(ball);
  const at = await page.evaluate(() => pliant.screenPosition('ball'));
  await page.keyboard.down('Control');
  await page.mouse.move(at[0], at[1]);
  await page.mouse.down();
  await page.mouse.move(at[0], at[1] - 130, { steps: 4 });
  await until(page, 'the ball is lifted by 3 cm', (z) => pliant.soft.ball.centroid[2] > z + 0.03, rest);
  assert.deepEqual(await page.evaluate(() => pliant.drivers.map(({ target }) => target)), ['ball']);
  await shoot(page, 'soft_ball_pulled');
  await page.mouse.up();
  await page.keyboard.up('Control');
  await until(page, 'it falls again', (z) => pliant.soft.ball.centroid[2] < z + 0.01, rest);
  await until(page, 'the lease is given back', () => pliant.drivers.length === 0);
});

test('the paddle obeys a gamepad, and rests when it is pulled out', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  const start = await page.evaluate(paddle);
  await page.evaluate(() => setPad([0, 0, 0, 0], { 7: 1 }));
  await until(page, 'the paddle rises by 3 cm', (z) => pliant.rigid.paddle.position[2] > z + 0.03, start[2]);
  await page.evaluate(() => pullOutPad());
  await settled(page, 'the paddle rests', paddle, 1e-9);
});

test('strain and force rise when the paddle squeezes the ball', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  await settled(page, 'the ball rests', ball, 2e-4);
  const rest = await page.evaluate(() => pliant.soft.ball.fieldMax);

  // steer towards a goal with the gamepad, as a person would
  await page.evaluate(() => {
    window.steer = (goal, gain = 12) => {
      clearInterval(window.steering);
      window.steering = setInterval(() => {
        const [x, y, z] = pliant.rigid.paddle.position;
        const to = goal(x, y, z);
        const h = pliant.heading;
        const forward = to[0] * Math.cos(h) + to[1] * Math.sin(h);
        const right = to[0] * Math.sin(h) - to[1] * Math.cos(h);
        const clamp = (v) => Math.max(-1, Math.min(1, gain * v));
        const stick = (v) => (Math.abs(v) < 1e-3 ? 0 : Math.sign(clamp(v)) * (0.15 + 0.85 * Math.abs(clamp(v))));
        const up = clamp(to[2]);
        setPad([stick(right), -stick(forward), 0, 0], { 7: Math.max(0, up), 6: Math.max(0, -up) });
      }, 20);
    };
    window.steer(() => [0, 0, 1]);
  });
  await until(page, 'the paddle is above the ball', () => pliant.rigid.paddle.position[2] > 0.17);
  await page.evaluate(() =>
    window.steer((x, y) => {
      const [bx, by] = pliant.soft.ball.centroid;
      return [bx - x, by - y, 0];
    }),
  );
  await until(page, 'the paddle is over the middle of the ball', () => {
    const [x, y] = pliant.rigid.paddle.position;
    const [bx, by] = pliant.soft.ball.centroid;
    return Math.hypot(bx - x, by - y) < 0.006;
  });
  await page.evaluate(() => window.steer(() => [0, 0, -0.03]));
  await until(page, 'the ball gives way under the paddle', () => pliant.rigid.paddle.position[2] < 0.132);
  await page.evaluate(() => {
    clearInterval(window.steering);
    pullOutPad();
  });
  await settled(page, 'the paddle rests on the ball', paddle, 1e-9, 0.2);
  const squeezed = await page.evaluate(() => ({ strain: pliant.soft.ball.fieldMax, force: pliant.forces.paddle.force }));
  await portray(browser, page, 'squeezed');
  assert.ok(squeezed.strain > 2 * rest, `strain rose from ${rest} to ${squeezed.strain}`);
  assert.ok(squeezed.force[2] > 1, `the ball pushes back with ${squeezed.force} N`);
});

test('anyone stops the world; it moves again only after it is resumed', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  await page.evaluate(() => setPad([0, 0, 0, 0], { 7: 1 }));
  await until(page, 'the paddle is driven', () => pliant.rigid.paddle.position[2] > 0.06);
  await page.keyboard.press('Space');
  await until(page, 'the stop is on', () => pliant.frame.stopped);
  await settled(page, 'the paddle rests though the stick is held', paddle, 1e-9);
  await page.evaluate(() => pullOutPad());
  await page.click('#stop');
  await until(page, 'the stop is off', () => !pliant.frame.stopped);
  const z = (await page.evaluate(paddle))[2];
  await page.evaluate(() => setPad([0, 0, 0, 0], { 7: 1 }));
  await until(page, 'the paddle is driven again', (from) => pliant.rigid.paddle.position[2] > from + 0.02, z);
  await page.evaluate(() => pullOutPad());
});

test('a second viewer does not disturb the first', kTest, async () => {
  await resetWorld(page);
  await runWorld(page);
  const epoch = await page.evaluate(() => pliant.frame.epoch);

  await page.evaluate(() => setPad([0, 0, 0, 0], { 7: 0.2 }));
  await until(page, 'the first one drives', () => pliant.lease.state === 'held');
  const other = await openViewer(browser, server.url);
  await until(other, 'the second one sees who drives', (name) => pliant.drivers.some((d) => d.client === name),
    await page.evaluate(() => pliant.client));
  // if the first page stalls it releases the paddle, and the second one may have it for a moment
  await bring(other, 'the second one is told that the paddle is taken', async () => {
    await other.keyboard.up('KeyQ');
    await until(other, 'it holds nothing', () => pliant.lease.state !== 'held');
    await until(other, 'the first one drives', (name) => pliant.drivers.some((d) => d.client === name),
      await page.evaluate(() => pliant.client));
    await other.keyboard.down('KeyQ');
  }, () => pliant.lease.state === 'refused');
  const z = (await page.evaluate(paddle))[2];
  await until(page, 'the first one still drives', (from) => pliant.rigid.paddle.position[2] > from + 0.01, z);
  await until(page, 'it still holds the paddle', () => pliant.lease.state === 'held');
  assert.equal(await page.evaluate(() => pliant.frame.epoch), epoch);
  const [here, there] = await Promise.all([page, other].map((each) => each.evaluate(() => pliant.world.modelHash)));
  assert.equal(here, there);

  // the second page takes over, and both pages show it
  await other.keyboard.up('KeyQ');
  await page.evaluate(() => (window.tenacious = false));
  await other.evaluate(() => {
    window.took = false;
    setInterval(() => (window.took ||= pliant.lease.state === 'held'), 10);
  });
  await bring(other, 'the second one drives', () => other.evaluate(() => document.getElementById('takeover').click()), () => window.took);
  await until(page, 'the first one is told', () => pliant.lease.state === 'lost' && pliant.lease.text !== '');
  await page.evaluate(() => {
    window.tenacious = true;
    pullOutPad();
  });

  // closing the second page does not disturb the first
  assert.deepEqual(other.errors, []);
  await other.context().close();
  const { step } = await page.evaluate(() => pliant.frame);
  await until(page, 'the first one goes on seeing', (before) => pliant.frame.step > before + 20, step);
});

test('a server that is killed and started again is picked up', kTest, async () => {
  await runWorld(page);
  const { port } = server;
  await server.kill();
  await until(page, 'the loss is noticed', () => pliant.connection.state === 'lost');
  await until(page, 'the page says that no server is there', () => /No Pliant server answers/.test(pliant.connection.text));
  await until(page, 'the words are on the page', () => {
    const shown = document.getElementById('problem');
    return !shown.hidden && /No Pliant server answers/.test(shown.textContent);
  });
  server = await Server.start(port);
  await until(page, 'the page is back', () => pliant.connection.state === 'live' && pliant.frame !== null);
  await until(page, 'the curtain is gone', () => document.getElementById('problem').hidden);
  await runWorld(page);
  const { step } = await page.evaluate(() => pliant.frame);
  await until(page, 'the world goes on', (before) => pliant.frame.step > before + 10, step);
  const z = (await page.evaluate(paddle))[2];
  await page.keyboard.down('KeyE');
  await until(page, 'the paddle obeys again', (from) => pliant.rigid.paddle.position[2] > from + 0.02, z);
  await page.keyboard.up('KeyE');
});

test('where nothing can be driven, the page says how a body is pulled, and so it is', kTest, async () => {
  const stack = await Server.start(0, join('scenes', 'soft_stack.yaml'));
  const viewer = await openViewer(browser, stack.url);
  const top = () => pliant.soft.upper.centroid;
  await runWorld(viewer);
  await settled(viewer, 'the stack rests', top, 2e-4);
  assert.equal(await viewer.textContent('#lease-text'), 'Hold Ctrl and drag a body to pull it.');
  const [, , rest] = await viewer.evaluate(top);
  const at = await viewer.evaluate(() => pliant.screenPosition('upper'));
  await viewer.keyboard.down('Control');
  await viewer.mouse.move(at[0], at[1]);
  await viewer.mouse.down();
  await viewer.mouse.move(at[0], at[1] - 130, { steps: 4 });
  await until(viewer, 'the upper box is lifted by 2 cm', (z) => pliant.soft.upper.centroid[2] > z + 0.02, rest);
  await viewer.mouse.up();
  await viewer.keyboard.up('Control');
  assert.deepEqual(viewer.errors, []);
  await viewer.context().close();
  assert.equal(await stack.stop(), 0, 'the server ends cleanly when it is asked to');
});

test('the page met no error of its own', () => {
  assert.deepEqual(page.errors, []);
});
