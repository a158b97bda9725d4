// Robots in the viewer, with the real server and a real browser: the arm and hand of the example scene, and two robots of one
// world driven from two pages.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bring, launchBrowser, openViewer, pixels, portray, resetWorld, runWorld, Server, settled, until } from './harness.mjs';

const kTest = { timeout: 300000 };

let browser;

before(async () => {
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
});

// Moves a slider to a value and releases it.
async function slide(page, selector, value) {
  await page.$eval(
    selector,
    (slider, wanted) => {
      slider.value = String(wanted);
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      slider.dispatchEvent(new Event('change', { bubbles: true }));
    },
    value,
  );
}

describe('the arm and hand', () => {
  let server;
  let page;
  const tool = () => pliant.rigid['robot/iiwa_flange'].position;
  const joint = (name) => page.evaluate((each) => pliant.robots.robot[each], name);

  before(async () => {
    server = await Server.start(0, join('scenes', 'iiwa_allegro.yaml'));
    page = await openViewer(browser, server.url);
  });
  after(async () => {
    const status = await server?.stop();
    assert.equal(status, 0, `the server ends cleanly when it is asked to:\n${server?.log}`);
  });

  test('are shown with their colours, joints and controllers', kTest, async () => {
    await resetWorld(page);
    const seen = await pixels(page);
    let [orange, light] = [0, 0];
    for (let i = 0; i < seen.length; i += 4) {
      const [r, g, b] = seen.slice(i, i + 3);
      if (r > 150 && r > g * 1.5 && g > b) ++orange;
      if (r > 150 && Math.abs(r - g) < 12 && Math.abs(g - b) < 20) ++light;
    }
    assert.ok(orange > 20, `the arm has orange caps; ${orange} pixels are`);
    assert.ok(light > 200, `the arm is light grey; ${light} pixels are`);
    assert.equal(await page.$$eval('#robots section', (sections) => sections.length), 1);
    assert.equal(await page.$$eval('#robots input[data-joint]', (sliders) => sliders.length), 23);
    assert.deepEqual(await page.evaluate(() => pliant.driven), {
      target: 'robot', controller: 'tool', body: 'robot/iiwa_flange',
    });
    await portray(browser, page, 'iiwa_allegro_start');
  });

  test('hold their pose under gravity', kTest, async () => {
    await resetWorld(page);
    const start = await page.evaluate(() => Object.values(pliant.robots.robot).map(({ position }) => position));
    await runWorld(page);
    await until(page, 'a second has passed', () => pliant.frame.time > 1);
    const now = await page.evaluate(() => Object.values(pliant.robots.robot).map(({ position }) => position));
    const moved = Math.max(...now.map((q, i) => Math.abs(q - start[i])));
    assert.ok(moved < 1e-3, `no joint moved by more than ${moved} rad`);
    const { effort } = await joint('iiwa_joint_2');
    assert.ok(Math.abs(effort) > 10, `the shoulder carries the arm: ${effort} N·m`);
  });

  test('obey a slider, which shows where the joint is', kTest, async () => {
    await runWorld(page);
    const before = await joint('iiwa_joint_1');
    await page.evaluate(() => {
      window.drove = false;
      const seen = setInterval(() => {
        window.drove = pliant.drivers.some((d) => d.target === 'robot' && d.client === pliant.client);
        if (window.drove) clearInterval(seen);
      }, 10);
    });
    await bring(page, 'the joint is there', () => slide(page, '[data-joint="iiwa_joint_1"]', before.position + 0.4),
      (goal) => Math.abs(pliant.robots.robot.iiwa_joint_1.position - goal) < 2e-3, before.position + 0.4);
    assert.ok(await page.evaluate(() => window.drove), 'the page was shown as the driver');
    await until(page, 'the lease is given back', () => pliant.drivers.length === 0);
    const shown = await page.$eval('[data-joint="iiwa_joint_1"]', (slider) => slider.closest('.joint').querySelector('output').textContent);
    const { position } = await joint('iiwa_joint_1');
    assert.ok(Math.abs(parseFloat(shown) - (position * 180) / Math.PI) < 0.2, `the panel shows ${shown} for ${position} rad`);
    const others = await joint('iiwa_joint_3');
    assert.ok(Math.abs(others.position) < 0.01, `the other joints stay: ${others.position}`);
  });

  test('follow a key with the tool, and rest when it is let go', kTest, async () => {
    await resetWorld(page);
    await runWorld(page);
    const start = await page.evaluate(tool);
    await slide(page, '#speed', 0.05); // slow enough to be seen, however slowly the page draws
    await page.keyboard.down('KeyE');
    await until(page, 'the tool rises by 5 cm', (z) => pliant.rigid['robot/iiwa_flange'].position[2] > z + 0.05, start[2]);
    await page.keyboard.up('KeyE');
    await settled(page, 'the tool rests', tool, 2e-5);
    const end = await page.evaluate(tool);
    const aside = Math.hypot(end[0] - start[0], end[1] - start[1]);
    const up = end[2] - start[2];
    assert.ok(aside < 0.03 * up, `it rose by ${up} m, straight up but for ${aside} m`);
    await slide(page, '#speed', 0.25);
  });

  test('follow a gamepad, and the mouse that drags the hand', kTest, async () => {
    await resetWorld(page);
    await runWorld(page);
    const start = await page.evaluate(tool);
    await page.evaluate(() => setPad([0, 0, 0, 0], { 7: 1 }));
    await until(page, 'the tool rises by 4 cm', (z) => pliant.rigid['robot/iiwa_flange'].position[2] > z + 0.04, start[2]);
    await page.evaluate(() => pullOutPad());
    await settled(page, 'the tool rests', tool, 2e-5);

    const from = await page.evaluate(tool);
    const at = await page.evaluate(() => pliant.screenPosition('robot/allegro_palm'));
    await page.mouse.move(at[0], at[1]);
    await page.mouse.down();
    await page.mouse.move(at[0] - 50, at[1], { steps: 4 });
    await until(page, 'the tool follows by 2 cm', ([x, y]) => {
      const [px, py] = pliant.rigid['robot/iiwa_flange'].position;
      return Math.hypot(px - x, py - y) > 0.02;
    }, from);
    await page.mouse.up();
    await settled(page, 'the tool rests', tool, 2e-5);
  });

  test('close and open the hand by a key', kTest, async () => {
    await resetWorld(page);
    await runWorld(page);
    const open = await joint('index_joint_1');
    await bring(page, 'the fingers close', () => page.keyboard.press('KeyG'),
      (q) => pliant.robots.robot.index_joint_1.position > q + 0.5, open.position);
    await portray(browser, page, 'iiwa_allegro_closed');
    await bring(page, 'the fingers open', () => page.click('#robots .gripper button:text("Open")'),
      () => pliant.robots.robot.index_joint_1.position < 0.1);
  });

  test('freeze when anyone stops the world, until it is resumed', kTest, async () => {
    await resetWorld(page);
    await runWorld(page);
    await bring(page, 'the joint moves', () => slide(page, '[data-joint="iiwa_joint_1"]', 1.5),
      () => pliant.robots.robot.iiwa_joint_1.position > 0.1);
    await page.keyboard.press('Space');
    await until(page, 'the stop is on', () => pliant.frame.stopped);
    await settled(page, 'the arm rests', tool, 2e-5);
    const stopped = await joint('iiwa_joint_1');
    assert.ok(stopped.position < 1.2, `it stopped on the way, at ${stopped.position}`);
    await page.click('#stop');
    await until(page, 'the stop is off', () => !pliant.frame.stopped);
    await settled(page, 'the arm still rests', tool, 2e-5);
    await bring(page, 'it obeys again', () => slide(page, '[data-joint="iiwa_joint_1"]', 0),
      (q) => pliant.robots.robot.iiwa_joint_1.position < q - 0.05, stopped.position);
  });

  test('are taken by one page at a time; the other is told by whom', kTest, async () => {
    await resetWorld(page);
    await runWorld(page);
    const other = await openViewer(browser, server.url);
    await page.keyboard.down('KeyE');
    await until(page, 'the first one drives', () => pliant.lease.state === 'held');
    await until(other, 'the second one sees that', () => pliant.drivers.length === 1);
    // if the first page stalls it releases the robot, and the second one may have it for a moment
    await bring(other, 'the second one is refused', () => slide(other, '[data-joint="iiwa_joint_1"]', 1),
      () => pliant.leases.robot?.state === 'refused');
    const note = await other.textContent('#robots .note');
    assert.match(note, new RegExp(await page.evaluate(() => pliant.client)));
    await page.keyboard.up('KeyE');
    await until(other, 'the first one gave it back', () => pliant.drivers.length === 0);
    await bring(other, 'the second one drives', () => slide(other, '[data-joint="iiwa_joint_1"]', 0.3),
      () => pliant.robots.robot.iiwa_joint_1.position > 0.1);
    assert.deepEqual(other.errors, []);
    await other.context().close();

    // closing the page stops the robot before it reaches its goal
    await until(page, 'nobody drives', () => pliant.drivers.length === 0);
  });

  test('press the soft ball, which shows it', kTest, async () => {
    await resetWorld(page);
    await runWorld(page);
    await until(page, 'the ball has come to rest', () => pliant.frame.time > 0.8);
    const rest = await page.evaluate(() => pliant.soft.ball.fieldMax);

    // Steer the tool with the gamepad until the fingers are around the ball: slowly, since at full speed a page whose frames come
    // late overshoots and knocks the ball away.
    await slide(page, '#speed', 0.1);
    await page.evaluate(() => {
      window.steering = setInterval(() => {
        const [x, y, z] = pliant.rigid['robot/iiwa_flange'].position;
        const to = [0.62 - x, -y, 0.285 - z];
        const forward = to[0] * Math.cos(pliant.heading) + to[1] * Math.sin(pliant.heading);
        const right = to[0] * Math.sin(pliant.heading) - to[1] * Math.cos(pliant.heading);
        const clamp = (v) => Math.max(-1, Math.min(1, 8 * v));
        const stick = (v) => (Math.abs(v) < 2e-3 ? 0 : Math.sign(v) * (0.15 + 0.85 * Math.abs(clamp(v))));
        const lift = (v) => (v > 1e-3 ? Math.max(0.07, clamp(v)) : 0);
        setPad([stick(right), -stick(forward), 0, 0], { 7: lift(to[2]), 6: lift(-to[2]) });
      }, 20);
    });
    await until(page, 'the fingers press the ball', (still) => {
      const touching = Object.keys(pliant.forces).some((body) => body.startsWith('robot/'));
      return touching && pliant.soft.ball.fieldMax > 1.5 * still && pliant.rigid['robot/iiwa_flange'].position[2] < 0.3;
    }, rest);
    await page.evaluate(() => {
      clearInterval(window.steering);
      pullOutPad();
    });
    await slide(page, '#speed', 0.25);
    await portray(browser, page, 'iiwa_allegro');
    await portray(browser, page, 'iiwa_allegro_small', { width: 420, height: 800 });
    assert.deepEqual(page.errors, []);
  });
});

// Two prismatic joints carry a hand; the robot has collision shapes only.
const kGantry = (name) => `<robot name="${name}">
  <link name="rail"><inertial><mass value="5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.6 0.04 0.04"/></geometry></collision></link>
  <link name="carriage"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.08 0.08 0.3"/></geometry></collision></link>
  <joint name="x" type="prismatic"><parent link="rail"/><child link="carriage"/><axis xyz="1 0 0"/>
    <limit lower="-0.3" upper="0.3" effort="500" velocity="0.3"/></joint>
  <joint name="z" type="prismatic"><parent link="carriage"/><child link="hand"/><axis xyz="0 0 1"/>
    <limit lower="-0.2" upper="0.2" effort="500" velocity="0.3"/></joint>
</robot>
`;

describe('two robots of one world', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pliant-robots-'));
  let server;

  before(async () => {
    writeFileSync(join(folder, 'gantry.urdf'), kGantry('gantry'));
    const profile = '{gamepad: {controls: [{axis: 0, tool: tool, twist: [0, 0, 0, 0, 0, 0.1]}]}}';
    const robot = (name, y, more = '') => `
  - name: ${name}
    file: gantry.urdf
    pose: {position: [0, ${y}, 0.6]}
    actuators: [{joint: "[xz]", pd: {stiffness: 10000, damping: 1000, gravity_compensation: true}}]
    controllers: [{name: tool, differential_ik: {link: hand}}]${more}`;
    writeFileSync(join(folder, 'gantries.yaml'), `name: gantries\nrobots:${robot('left', 0.5)}${robot('right', -0.5, `\n    teleop: ${profile}`)}\n`);
    server = await Server.start(0, join(folder, 'gantries.yaml'));
  });
  after(async () => {
    assert.equal(await server?.stop(), 0);
    rmSync(folder, { recursive: true });
  });

  test('are driven by two pages at once', kTest, async () => {
    const alice = await openViewer(browser, server.url);
    const bob = await openViewer(browser, server.url);
    await runWorld(alice);
    await bob.selectOption('#driven', { label: 'right · tool' });
    assert.equal((await bob.evaluate(() => pliant.driven)).target, 'right');

    await alice.keyboard.down('KeyE');
    await bob.keyboard.down('KeyQ');
    await until(alice, 'both drive', () => pliant.drivers.length === 2);
    await until(alice, 'one hand rises and the other sinks', () => {
      const [left, right] = ['left', 'right'].map((name) => pliant.robots[name].z.position);
      return left > 0.05 && right < -0.05;
    });
    await alice.keyboard.up('KeyE');
    await bob.keyboard.up('KeyQ');

    // one page may drive both: one by a slider while the other follows the gamepad
    await until(alice, 'nobody drives', () => pliant.drivers.length === 0);
    await bob.evaluate(() => setPad([0, 0, 0, 0], { 7: 0.5 }));
    await bring(bob, 'the slider has its way while the pad drives', () => slide(bob, 'section[data-robot="left"] [data-joint="x"]', 0.2),
      () => Math.abs(pliant.robots.left.x.position - 0.2) < 1e-3 && pliant.leases.right.state === 'held');
    await bob.evaluate(() => pullOutPad());
    for (const page of [alice, bob]) {
      assert.deepEqual(page.errors, []);
      await page.context().close();
    }
  });

  test('obey a gamepad by the profile that one of them has', kTest, async () => {
    const page = await openViewer(browser, server.url);
    await resetWorld(page);
    await runWorld(page);
    await page.selectOption('#driven', { label: 'right · tool' });
    await page.evaluate(() => setPad([1, 0, 0, 0]));
    // the profile maps right to up, for any view
    await until(page, 'the hand rises', () => pliant.robots.right.z.position > 0.05);
    assert.ok(Math.abs(await page.evaluate(() => pliant.robots.right.x.position)) < 1e-3, 'straight up');
    await page.evaluate(() => pullOutPad());
    await settled(page, 'the hand rests', () => [pliant.robots.right.z.position], 2e-5);
    assert.deepEqual(page.errors, []);
    await page.context().close();
  });

  test('are found again after the server was killed and started anew', kTest, async () => {
    const page = await openViewer(browser, server.url);
    const { port } = server;
    await server.kill();
    await until(page, 'the loss is noticed', () => pliant.connection.state === 'lost');
    server = await Server.start(port, join(folder, 'gantries.yaml'));
    await until(page, 'the page is back', () => pliant.connection.state === 'live' && pliant.frame !== null);
    await runWorld(page);
    await bring(page, 'the joint obeys again', () => slide(page, 'section[data-robot="right"] [data-joint="x"]', -0.1),
      () => Math.abs(pliant.robots.right.x.position + 0.1) < 1e-3);
    await page.keyboard.down('KeyE');
    await until(page, 'the tool obeys again', () => pliant.robots.left.z.position > 0.03);
    await page.keyboard.up('KeyE');
    assert.deepEqual(page.errors, []);
    await page.context().close();
  });
});

describe('the mobile robot with a gamepad', () => {
  let server;
  const kHoldButton = { 4: 1 };
  const base = () => pliant.rigid['fetch/base_link'].position;

  before(async () => {
    server = await Server.start(0, join('scenes', 'fetch_drive.yaml'));
  });
  after(async () => {
    assert.equal(await server?.stop(), 0);
  });

  test('is driven by one page while another one moves its arm', kTest, async () => {
    const alice = await openViewer(browser, server.url);
    const bob = await openViewer(browser, server.url);
    await runWorld(alice);
    await alice.selectOption('#group', 'base');
    await bob.selectOption('#group', 'arm');
    assert.ok(await alice.$eval('[data-joint="torso_lift_joint"]', ({ disabled }) => disabled), 'the arm is for others');
    assert.ok(await bob.$eval('[data-joint="left_wheel_joint"]', ({ disabled }) => disabled));

    const start = await alice.evaluate(base);
    const torso = await bob.evaluate(() => pliant.robots.fetch.torso_lift_joint.position);
    await alice.evaluate((pressed) => setPad([0, -1, 0, 0], pressed), kHoldButton);
    await bob.evaluate((pressed) => setPad([0, -1, 0, 0], pressed), { ...kHoldButton, 7: 1 });
    await until(alice, 'both drive', () => pliant.drivers.length === 2);
    assert.deepEqual(await alice.evaluate(() => pliant.drivers.map(({ target }) => target).sort()), ['fetch/arm', 'fetch/base']);
    await until(alice, 'the base drives ahead', (x) => pliant.rigid['fetch/base_link'].position[0] > x + 0.1, start[0]);
    await until(bob, 'the torso rises', (q) => pliant.robots.fetch.torso_lift_joint.position > q + 0.01, torso);
    await bob.evaluate(() => pullOutPad());

    // without the hold button it stops, whatever the stick says
    await alice.evaluate(() => setPad([0, -1, 0, 0]));
    await settled(alice, 'the base rests', base, 1e-3);
    for (const page of [alice, bob]) {
      assert.deepEqual(page.errors, []);
      await page.context().close();
    }
  });

  test('goes to the page with the higher priority', kTest, async () => {
    const low = await openViewer(browser, server.url);
    const high = await openViewer(browser, server.url);
    await runWorld(low);
    await low.evaluate(() => (window.tenacious = false));
    await low.evaluate((pressed) => setPad([0, 0.3, 0, 0], pressed), kHoldButton);
    await until(low, 'the first page drives', () => pliant.lease.state === 'held');
    await high.fill('#priority', '20');
    await high.dispatchEvent('#priority', 'change');
    await high.evaluate((pressed) => setPad([0, 0.3, 0, 0], pressed), kHoldButton);
    await bring(high, 'the second one takes over', () => high.click('#takeover'), () => pliant.lease.state === 'held');
    await until(low, 'the first one receives the loss', () => pliant.lease.state === 'lost');
    // the drivers are part of the next frame
    await until(low, 'the first one sees one driver', () => pliant.drivers.length === 1);
    await low.evaluate(() => pullOutPad());
    await bring(low, 'it is not given back', () => low.click('#takeover'), () => pliant.lease.text.includes('with priority 20'));
    for (const page of [low, high]) {
      assert.deepEqual(page.errors, []);
      await page.context().close();
    }
  });
});
