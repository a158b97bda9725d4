// Files dropped onto the page, or chosen with its button, become worlds: with the real server and a real browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { bring, kBinary, launchBrowser, openViewer, Server, shoot, until } from './harness.mjs';

const kTest = { timeout: 300000 };
const folder = mkdtempSync(join(tmpdir(), 'pliant-files-'));

let server;
let browser;
let page;

function write(path, content) {
  const place = join(folder, path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content);
  return place;
}

function box([x, y, z]) {
  const corner = (i) => [(i & 1 ? 0.5 : -0.5) * x, (i & 2 ? 0.5 : -0.5) * y, i & 4 ? z : 0];
  const faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
  return { corner, triangles: faces.flatMap(([a, b, c, d]) => [[a, b, c], [a, c, d]]) };
}

// A box as glTF with its buffer in another file.
function writeGltfBox(size, path, buffer) {
  const { corner, triangles } = box(size);
  const bytes = Buffer.alloc(8 * 12 + 2 * 36);
  [...Array(8).keys()].flatMap(corner).forEach((value, k) => bytes.writeFloatLE(value, 4 * k));
  triangles.flat().forEach((value, k) => bytes.writeUInt16LE(value, 96 + 2 * k));
  write(join(dirname(path), buffer), bytes);
  write(path, JSON.stringify({
    asset: { version: '2.0' },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1 }] }],
    accessors: [
      { bufferView: 0, componentType: 5126, count: 8, type: 'VEC3', min: [-1, -1, 0], max: [1, 1, 1] },
      { bufferView: 1, componentType: 5123, count: 36, type: 'SCALAR' },
    ],
    bufferViews: [{ buffer: 0, byteLength: 96 }, { buffer: 0, byteOffset: 96, byteLength: 72 }],
    buffers: [{ uri: encodeURI(buffer), byteLength: bytes.length }],
  }));
}

// A box as a binary STL, its lower face at z = 0.
function boxStl(size) {
  const { corner, triangles } = box(size);
  const bytes = Buffer.alloc(84 + 50 * triangles.length);
  bytes.writeUInt32LE(triangles.length, 80);
  triangles.forEach((triangle, t) => {
    triangle.flatMap(corner).forEach((value, k) => bytes.writeFloatLE(value, 84 + 50 * t + 12 + 4 * k));
  });
  return bytes;
}

function linkWith(name, mesh, z) {
  const geometry = `<origin xyz="0 0 0"/><geometry><mesh filename="${mesh}"/></geometry>`;
  return `<link name="${name}"><inertial><origin xyz="0 0 ${z}"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual>${geometry}</visual><collision>${geometry}</collision></link>`;
}

const kUrdf = `<robot name="crane">
  ${linkWith('base', 'package://crane_description/meshes/base.stl', 0.05)}
  ${linkWith('boom', 'package://crane_description/meshes/boom.stl', 0.2)}
  <joint name="luff" type="revolute"><parent link="base"/><child link="boom"/><origin xyz="0 0 0.12"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="100" velocity="2"/></joint>
</robot>`;

// Drags files and folders of this machine onto the page.
async function drop(target, paths) {
  const session = await target.context().newCDPSession(target);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await session.send('Input.dispatchDragEvent', { type, x: 400, y: 300, data });
    if (type === 'dragOver' && paths.length > 1) await shoot(target, 'files_drop');
  }
  await session.detach();
}

const refused = (target) => until(target, 'the page says that it cannot open them', () =>
  document.getElementById('opening').classList.contains('failed') && !document.getElementById('opening').hidden);

before(async () => {
  write('part.stl', boxStl([0.2, 0.2, 0.2]));
  write('crane_description/package.xml', '<package><name>crane_description</name></package>');
  write('crane_description/urdf/crane.urdf', kUrdf);
  write('crane_description/meshes/base.stl', boxStl([0.3, 0.3, 0.1]));
  write('crane_description/meshes/boom.stl', boxStl([0.06, 0.06, 0.4]));
  write('crane_description/meshes/spare.stl', boxStl([1, 1, 1]));
  write('loose/crane.urdf', kUrdf);
  write('scene/ball.yaml', `name: ball
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: block, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 1]}, shapes: [{mesh: {file: meshes/block.stl}}]}}
`);
  write('scene/meshes/block.stl', boxStl([0.1, 0.1, 0.1]));
  write('bad.yaml', 'name: bad\nbodies:\n  - {name: b, rigid: {motion: FREE, density: -1, shapes: [{box: {size: [1, 1, 1]}}]}}\n');
  write('notes.txt', 'hello');
  writeGltfBox([0.1, 0.1, 0.1], 'gltf/toy.gltf', 'toy box.bin');
  write('gltf/toys.yaml', `name: toys
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: named
    deformable:
      mesh: {file: toy.gltf, edge_length: 0.03}
      pose: {position: [0, 0, 0.1]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
`);
  const worn = boxStl([0.2, 0.2, 0.2]);
  worn.writeUInt32LE(11, 80);
  write('worn.stl', worn.subarray(0, worn.length - 50));
  write('worn.urdf', `<robot name="worn">
  <colour/>
  ${linkWith('base', '', 0.05).replace(/<visual>.*<\/collision>/s, '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>')}
  ${linkWith('boom', '', 0.2).replace(/<visual>.*<\/collision>/s, '<collision><geometry><box size="0.05 0.05 0.3"/></geometry></collision>')}
  <joint name="luff" type="revolute"><parent link="base"/><child link="boom"/><origin xyz="0 0 0.25"/>
    <axis xyz="1 0 0"/><limit lower="1" upper="-1" effort="100" velocity="2"/></joint>
</robot>`);
  server = await Server.start(0, join('scenes', 'soft_ball.yaml'));
  browser = await launchBrowser();
  page = await openViewer(browser, server.url);
});

after(async () => {
  await browser?.close();
  const status = await server?.stop();
  rmSync(folder, { recursive: true });
  assert.equal(status, 0, `the server ends cleanly when it is asked to:\n${server?.log}`);
});

test('a dropped STL becomes a soft body that falls onto a floor, and back returns to the world before', kTest, async () => {
  const scene = await page.evaluate(() => pliant.world.scene);
  await drop(page, [join(folder, 'part.stl')]);
  await until(page, 'the new world is shown', () => pliant.connection.state === 'live' && pliant.soft.part);
  assert.match(new URL(page.url()).searchParams.get('world'), /^worlds\/part-/);
  assert.ok(await page.isHidden('#opening'));
  await until(page, 'it runs', () => pliant.frame?.clock === 'realTime' && pliant.frame.time > 0.2);
  await until(page, 'it rests on the floor', () => pliant.soft.part?.low[2] < 0.002 && pliant.contacts > 0);
  const rest = await page.evaluate(() => pliant.soft.part.centroid[2]);
  // it starts 4 mm above the floor, its centre at 0.104 m
  assert.ok(rest > 0.09 && rest < 0.1035, `it fell and keeps its shape, its centre is at ${rest}`);
  await shoot(page, 'files_part');
  await page.goBack();
  await until(page, 'the world before is shown', (before) => pliant.connection.state === 'live' && pliant.world.scene === before, scene);
});

test('a dropped package becomes a robot that holds its pose, with its meshes and nothing else', kTest, async () => {
  await drop(page, [join(folder, 'crane_description')]);
  await until(page, 'the robot is shown', () => pliant.connection.state === 'live' && pliant.robots.crane && pliant.frame?.time > 0.3);
  const { bodies, soft, joint } = await page.evaluate(() => ({
    bodies: Object.keys(pliant.rigid).sort(),
    soft: Object.keys(pliant.soft),
    joint: pliant.robots.crane.luff,
  }));
  assert.deepEqual(bodies, ['crane/base', 'crane/boom', 'floor']);
  assert.deepEqual(soft, []);
  assert.ok(Math.abs(joint.position) < 0.05, `the drive holds the joint, which is at ${joint.position}`);
  await bring(
    page,
    'the boom follows the slider of its joint',
    () => page.$eval('#robots .joint input', (slider) => {
      slider.value = '0.6';
      slider.dispatchEvent(new Event('input', { bubbles: true }));
    }),
    () => pliant.robots.crane?.luff.position > 0.5,
  );
  await shoot(page, 'files_robot');
});

test('an example is chosen from the list, and shown with its name', kTest, async () => {
  await page.waitForSelector('#examples', { state: 'visible' });
  const names = await page.$$eval('#examples option', (options) => options.map(({ value }) => value));
  assert.ok(names.includes('humanoid') && names.includes('dam_break'), names.join());
  await page.selectOption('#examples', 'humanoid');
  await until(page, 'the example is shown', () =>
    pliant.connection.state === 'live' && pliant.world.scene === 'humanoid' && pliant.robots.standing);
  assert.match(page.url(), /[?]world=worlds%2Fhumanoid-[a-z0-9]{6}$/);
  assert.equal(await page.inputValue('#examples'), '');
  await shoot(page, 'files_example');
  await page.goBack();
  await until(page, 'the world before is shown', () => pliant.connection.state === 'live' && pliant.world.scene !== 'humanoid');
});

test('a page without a world offers examples', kTest, async () => {
  const empty = await Server.start(0, '');
  const first = await browser.newPage();
  try {
    await first.goto(empty.url);
    await first.waitForSelector('#examples-first', { state: 'visible' });
    await first.selectOption('#examples-first', 'soft_ball');
    await until(first, 'the example is shown', () => pliant.connection.state === 'live' && pliant.soft.ball);
  } finally {
    await first.close();
    await empty.stop();
  }
});

test('a robot and meshes without their folders, chosen with the button, are found by their names', kTest, async () => {
  const chooser = page.waitForEvent('filechooser');
  await page.click('#open-files');
  const meshes = ['base', 'boom'].map((name) => join(folder, 'crane_description', 'meshes', `${name}.stl`));
  await (await chooser).setFiles([join(folder, 'loose', 'crane.urdf'), ...meshes, join(folder, 'part.stl')]);
  await until(page, 'robot and part are shown', () => pliant.connection.state === 'live' && pliant.robots.crane && pliant.soft.part);
  assert.deepEqual(await page.evaluate(() => Object.keys(pliant.soft)), ['part']);
});

test('a surface in two files becomes a soft body, dropped or named by a scene', kTest, async () => {
  await drop(page, [join(folder, 'gltf', 'toy.gltf'), join(folder, 'gltf', 'toy box.bin')]);
  await until(page, 'the toy is shown', () => pliant.connection.state === 'live' && pliant.soft.toy);
  assert.ok(await page.isHidden('#opening'));
  await drop(page, [join(folder, 'gltf')]);
  await until(page, 'the scene is shown', () => pliant.connection.state === 'live' && pliant.world.scene === 'toys');
  await until(page, 'its toy is shown', () => pliant.soft.named);
  await drop(page, [join(folder, 'gltf', 'toy.gltf')]);
  await refused(page);
  assert.match(await page.textContent('#opening-text'), /toy\.gltf.*toy%20box\.bin|toy\.gltf.*toy box\.bin/s);
  await page.click('#opening-end');
});

test('what was mended or ignored is listed beside the new world until it is closed', kTest, async () => {
  await drop(page, [join(folder, 'worn.stl'), join(folder, 'worn.urdf')]);
  await until(page, 'the new world is shown', () => pliant.connection.state === 'live' && pliant.robots.worn && pliant.soft.worn_2);
  await page.waitForSelector('#opening-warnings li', { state: 'visible' });
  const warnings = await page.$$eval('#opening-warnings li', (items) => items.map((item) => item.textContent));
  assert.equal(warnings.length, 3, warnings.join('\n'));
  assert.match(warnings.join('\n'), /^worn\.stl: has 3 edges with one triangle; closed by winding number/m);
  assert.match(warnings.join('\n'), /^worn\.urdf:2: .*<colour>/m);
  assert.match(warnings.join('\n'), /^worn\.urdf:\d+: joint "luff": its lower limit/m);
  await shoot(page, 'files_warnings');
  await page.click('#opening-end');
  assert.ok(await page.isHidden('#opening'));
  // the list disappears with its world
  await drop(page, [join(folder, 'worn.stl')]);
  await page.waitForSelector('#opening-warnings li', { state: 'visible' });
  await page.goBack();
  await page.waitForSelector('#opening', { state: 'hidden' });
});

test('a dropped folder with a scene becomes that scene', kTest, async () => {
  await drop(page, [join(folder, 'scene')]);
  await until(page, 'the scene is shown', () => pliant.connection.state === 'live' && pliant.world.scene === 'ball');
  await until(page, 'the block falls', () => pliant.rigid.block?.position[2] < 0.5);
});

test('what is wrong is said with its place, and the world stays', kTest, async () => {
  const world = await page.evaluate(() => pliant.world.name);
  await drop(page, [join(folder, 'bad.yaml')]);
  await refused(page);
  assert.match(await page.textContent('#opening-text'), /bad\.yaml:3:\d+: bodies\[0\]\.rigid\.density/);
  await shoot(page, 'files_error');
  await page.click('#opening-end');
  await drop(page, [join(folder, 'loose', 'crane.urdf')]);
  await refused(page);
  assert.match(await page.textContent('#opening-text'), /crane\.urdf:\d+.*base\.stl/);
  await page.click('#opening-end');
  await drop(page, [join(folder, 'notes.txt')]);
  await refused(page);
  assert.match(await page.textContent('#opening-text'), /notes\.txt.*expected/s);
  await page.click('#opening-end');
  assert.ok(await page.isHidden('#opening'));
  assert.equal(await page.evaluate(() => pliant.world.name), world);
  assert.deepEqual(page.errors, []);
});

test('a viewer is refused, and the message names the role that is needed', kTest, async () => {
  const tokens = join(folder, 'tokens.yaml');
  const token = execFileSync(kBinary, ['token', '--name', 'bob', '--role', 'viewer', '--tokens', tokens], { encoding: 'utf8' }).trim();
  const guarded = await Server.start(0, join('scenes', 'soft_ball.yaml'), ['--tokens', tokens]);
  try {
    const context = await browser.newContext();
    const watcher = await context.newPage();
    watcher.setDefaultTimeout(90000);
    await watcher.goto(guarded.url);
    await watcher.waitForSelector('#token', { state: 'visible' });
    await watcher.fill('#token', token);
    await watcher.keyboard.press('Enter');
    await until(watcher, 'frames come', () => pliant.connection.state === 'live' && pliant.framesDrawn > 0);
    const world = await watcher.evaluate(() => pliant.world.name);
    await drop(watcher, [join(folder, 'part.stl')]);
    await refused(watcher);
    assert.match(await watcher.textContent('#opening-text'), /role viewer.*role operator/);
    assert.equal(await watcher.evaluate(() => pliant.world.name), world);
    await context.close();
  } finally {
    assert.equal(await guarded.stop(), 0, guarded.log);
  }
});
