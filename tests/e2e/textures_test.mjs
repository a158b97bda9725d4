// Textures and colours of vertices as the page shows them, on rigid and on soft bodies: with the real server and a real browser.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { launchBrowser, openViewer, pixels, portray, resetWorld, runWorld, Server, shoot, until } from './harness.mjs';

const kTest = { timeout: 300000 };
const kSide = 64; // of the picture, in pixels
const folder = mkdtempSync(join(tmpdir(), 'pliant-textures-'));
let browser;

function write(path, content) {
  const place = join(folder, path);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, content);
  return place;
}

// The checksum of PNG (ISO 15948, annex D); newer versions of Node have it.
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type, data) {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(typed), 4);
  return Buffer.concat([ends.subarray(0, 4), typed, ends.subarray(4)]);
}

function png(side, pixelData) {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', pixelData),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

// Four quarters: red and green above, blue and yellow below.
function quarters() {
  const colors = [[220, 20, 20], [20, 200, 20], [20, 20, 220], [230, 220, 20]];
  const rows = Array.from({ length: kSide }, (_, y) => [
    0, // no filter
    ...Array.from({ length: kSide }, (_, x) => colors[(y < kSide / 2 ? 0 : 2) + (x < kSide / 2 ? 0 : 1)]).flat(),
  ]);
  return png(kSide, deflateSync(Buffer.from(rows.flat())));
}

// The four upright faces of a cube, each with the whole picture, its left side at the left seen from outside; lid and floor have
// the picture's middle. Returns vertices with texture coordinates, and triangles.
function cube(size) {
  const h = size / 2;
  const corners = [[-h, -h], [h, -h], [h, h], [-h, h]];
  const vertices = [];
  const triangles = [];
  corners.forEach(([x, y], i) => {
    const [next, first] = [corners[(i + 1) % 4], vertices.length];
    vertices.push([x, y, -h, 0, 0], [...next, -h, 1, 0], [...next, h, 1, 1], [x, y, h, 0, 1]);
    triangles.push([first, first + 1, first + 2], [first, first + 2, first + 3]);
  });
  for (const z of [-h, h]) {
    const first = vertices.length;
    for (const [x, y] of corners) vertices.push([x, y, z, 0.75, 0.25]);
    const order = z > 0 ? [0, 1, 2, 0, 2, 3] : [0, 2, 1, 0, 3, 2];
    triangles.push(order.slice(0, 3).map((k) => first + k), order.slice(3).map((k) => first + k));
  }
  return { vertices, triangles };
}

function objCube(size) {
  const { vertices, triangles } = cube(size);
  return [
    'mtllib cube.mtl',
    ...vertices.map(([x, y, z]) => `v ${x} ${y} ${z}`),
    ...vertices.map(([, , , u, v]) => `vt ${u} ${v}`),
    'usemtl quarters',
    ...triangles.map((corners) => `f ${corners.map((k) => `${k + 1}/${k + 1}`).join(' ')}`),
  ].join('\n');
}

// A binary glTF with the picture in it.
function glbCube(size, image) {
  const { vertices, triangles } = cube(size);
  const parts = [
    Buffer.from(Float32Array.from(vertices.flatMap(([x, y, z]) => [x, y, z])).buffer),
    Buffer.from(Float32Array.from(vertices.flatMap(([, , , u, v]) => [u, 1 - v])).buffer),
    Buffer.from(Uint16Array.from(triangles.flat()).buffer),
    image,
  ];
  const views = [];
  let offset = 0;
  const binary = Buffer.concat(parts.map((part) => {
    views.push({ buffer: 0, byteOffset: offset, byteLength: part.length });
    const padded = Buffer.concat([part, Buffer.alloc((4 - (part.length % 4)) % 4)]);
    offset += padded.length;
    return padded;
  }));
  const h = size / 2;
  const json = JSON.stringify({
    asset: { version: '2.0' },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0, TEXCOORD_0: 1 }, indices: 2, material: 0 }] }],
    materials: [{ pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }],
    textures: [{ source: 0 }],
    images: [{ bufferView: 3, mimeType: 'image/png' }],
    buffers: [{ byteLength: binary.length }],
    bufferViews: views,
    accessors: [
      { bufferView: 0, componentType: 5126, count: vertices.length, type: 'VEC3', min: [-h, -h, -h], max: [h, h, h] },
      { bufferView: 1, componentType: 5126, count: vertices.length, type: 'VEC2' },
      { bufferView: 2, componentType: 5123, count: 3 * triangles.length, type: 'SCALAR' },
    ],
  });
  const text = Buffer.from(json.padEnd(4 * Math.ceil(json.length / 4)));
  const head = (...numbers) => Buffer.from(Uint32Array.from(numbers).buffer);
  return Buffer.concat([
    head(0x46546c67, 2, 28 + text.length + binary.length, text.length, 0x4e4f534a),
    text,
    head(binary.length, 0x004e4942),
    binary,
  ]);
}

// A cube of magenta vertices.
function plyCube(size) {
  const { vertices, triangles } = cube(size);
  return ['ply', 'format ascii 1.0', `element vertex ${vertices.length}`,
    ...['x', 'y', 'z'].map((name) => `property float ${name}`),
    ...['red', 'green', 'blue'].map((name) => `property uchar ${name}`),
    `element face ${triangles.length}`, 'property list uchar int vertex_indices', 'end_header',
    ...vertices.map(([x, y, z]) => `${x} ${y} ${z} 230 20 230`),
    ...triangles.map((corners) => `3 ${corners.join(' ')}`), ''].join('\n');
}

const rigid = (visual) => `name: rigid
bodies:
  - {name: block, rigid: {motion: FIXED, shapes: [{box: {size: [0.1, 0.1, 0.1]}}], visual: {file: ${visual}}}}
`;

// A soft body as large as its visual; gravity squeezes it against a floor until it bulges.
const soft = (visual, modulus = 2e5) => `name: soft
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: toy
    deformable:
      mesh: {box: {size: [0.2, 0.2, 0.2]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.1]}
      material: {youngs_modulus: ${modulus}, poissons_ratio: 0.4, density: 1000}
      visual: {file: ${visual}}
`;

// Pixels of each colour in the middle of the page: their number, first and last column, and mean row from the top.
async function census(page) {
  const size = 96;
  const seen = await pixels(page, size);
  const classes = {
    red: (r, g, b) => r > 1.7 * g && r > 1.7 * b && r > 90,
    green: (r, g, b) => g > 1.5 * r && g > 1.5 * b && g > 80,
    blue: (r, g, b) => b > 1.7 * r && b > 1.7 * g && b > 80,
    yellow: (r, g, b) => r > 1.7 * b && g > 1.7 * b && r > 90 && Math.abs(r - g) < 0.25 * r,
    magenta: (r, g, b) => r > 1.7 * g && b > 1.7 * g && r > 80,
  };
  return Object.fromEntries(Object.entries(classes).map(([name, is]) => {
    const found = { count: 0, left: size, right: 0, height: 0 };
    for (let i = 0; i < size * size; ++i) {
      if (!is(...seen.slice(4 * i, 4 * i + 3))) continue;
      const x = i % size;
      found.count += 1;
      found.left = Math.min(found.left, x);
      found.right = Math.max(found.right, x);
      found.height += Math.floor(i / size);
    }
    found.height /= Math.max(1, found.count);
    return [name, found];
  }));
}

function assertQuarters({ red, green, blue, yellow }) {
  const all = JSON.stringify({ red, green, blue, yellow });
  for (const { count } of [red, green, blue, yellow]) assert.ok(count > 60, `all four colours are seen: ${all}`);
  assert.ok(red.height + 3 < blue.height && green.height + 3 < blue.height, `red and green are above: ${all}`);
  assert.ok(red.left < green.left && red.right < green.right, `red is left of green: ${all}`);
}

async function withPage(scene, check) {
  const server = await Server.start(0, scene);
  try {
    const page = await openViewer(browser, server.url);
    await check(page, server);
    assert.deepEqual(page.errors, []);
    await page.context().close();
  } finally {
    assert.equal(await server.stop(), 0, server.log);
  }
}

const texturesCome = (page, loaded, failed = 0) =>
  until(page, 'the browser has decoded the textures', ([yes, no]) => pliant.textures.loaded === yes && pliant.textures.failed === no, [loaded, failed]);

before(async () => {
  write('cube.obj', objCube(0.2));
  write('cube.mtl', 'newmtl quarters\nKd 0 0 0\nmap_Kd quarters.png\n');
  write('quarters.png', quarters());
  write('cube.glb', glbCube(0.2, quarters()));
  write('cube.ply', plyCube(0.2));
  // valid chunks of a PNG, but no pixels
  write('broken/cube.glb', glbCube(0.2, png(kSide, Buffer.from('no pixels'))));
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

test('a rigid body shows the picture within its glTF file, the right way up', kTest, async () => {
  await withPage(write('rigid.yaml', rigid('cube.glb')), async (page) => {
    await texturesCome(page, 1);
    assertQuarters(await census(page));
    await shoot(page, 'textures_rigid');
  });
});

test('a soft body carries a textured surface, which deforms with it and gives way to strain when that is chosen', kTest, async () => {
  await withPage(write('soft.yaml', soft('cube.obj', 8000)), async (page) => {
    await texturesCome(page, 1);
    assert.equal(await page.inputValue('#measure'), '0');
    assert.ok(await page.isHidden('#legend-scale'));
    await resetWorld(page);
    const height = () => page.evaluate(() => pliant.soft.toy.high[2] - pliant.soft.toy.low[2]);
    const [tall, before] = [await height(), await census(page)];
    assertQuarters(before);
    assert.ok(Math.abs(tall - 0.2) < 0.001, `the visual is 0.2 m tall before it is squeezed, not ${tall}`);
    await shoot(page, 'textures_soft');
    await runWorld(page);
    await until(page, 'its weight squeezes it', () => pliant.soft.toy.high[2] - pliant.soft.toy.low[2] < 0.185);
    await until(page, 'it widens', () => pliant.soft.toy.high[0] - pliant.soft.toy.low[0] > 0.201);
    await page.click('#run');
    await until(page, 'it is paused', () => pliant.frame.clock === 'paused');
    await shoot(page, 'textures_squeezed');
    assertQuarters(await census(page));
    assert.notDeepEqual(await census(page), before);

    await page.selectOption('#measure', '1');
    await until(page, 'strain is shown', () => pliant.soft.toy.measure === 1 && pliant.soft.toy.fieldMax > 0);
    await until(page, 'it is drawn', (drawn) => pliant.framesDrawn > drawn, await page.evaluate(() => pliant.framesDrawn));
    assert.ok(await page.isVisible('#legend-scale'));
    const strained = await census(page);
    assert.ok(strained.red.count + strained.magenta.count < 10, `the picture is gone: ${JSON.stringify(strained)}`);
    await shoot(page, 'textures_strain');
    await page.selectOption('#measure', '0');
    await until(page, 'the picture is back', () => document.getElementById('legend-scale').hidden);
    await page.waitForTimeout(500);
    assertQuarters(await census(page));
  });
});

test('colours of vertices are shown', kTest, async () => {
  await withPage(write('ply.yaml', rigid('cube.ply')), async (page) => {
    const { magenta, red, blue } = await census(page);
    assert.ok(magenta.count > 300, `the block is magenta; ${magenta.count} pixels are`);
    assert.ok(red.count + blue.count < 20, 'and nothing else');
    await shoot(page, 'textures_vertices');
  });
});

test('a picture that the browser cannot decode leaves the body in its colour', kTest, async () => {
  await withPage(write('broken/scene.yaml', rigid('cube.glb')), async (page) => {
    await texturesCome(page, 0, 1);
    const { red, green, blue } = await census(page);
    assert.ok(red.count + green.count + blue.count < 20, 'it has no picture');
    assert.ok(await page.evaluate(() => 'block' in pliant.rigid));
  });
});

test('an OBJ that is opened with its material and its picture shows them', kTest, async () => {
  await withPage(join('scenes', 'soft_ball.yaml'), async (page) => {
    const chooser = page.waitForEvent('filechooser');
    await page.click('#open-files');
    await (await chooser).setFiles(['cube.obj', 'cube.mtl', 'quarters.png'].map((name) => join(folder, name)));
    await until(page, 'the cube is shown', () => pliant.connection.state === 'live' && pliant.soft.cube);
    await texturesCome(page, 1);
    assertQuarters(await census(page));
  });
});

test('the painted ladybird keeps its paint while the gripper squeezes it', kTest, async () => {
  await withPage(join('scenes', 'rubber_ladybird.yaml'), async (page) => {
    await texturesCome(page, 1);
    await resetWorld(page);
    const width = () => page.evaluate(() => pliant.soft.ladybird.high[0] - pliant.soft.ladybird.low[0]);
    const wide = await width();
    assert.ok(Math.abs(wide - 0.072) < 0.001, `it is 72 mm wide, not ${wide}`);
    assert.ok((await census(page)).red.count > 60, 'its back is red');
    await page.selectOption('#factor', '0.1'); // a busy machine draws few frames a second
    await page.click('#step');
    await until(page, 'it has made a step', () => pliant.frame.step > 0);
    const [step, clock] = await page.evaluate(() => [pliant.frame.step, pliant.frame.clock]);
    assert.deepEqual([step, clock], [1, 'paused'], 'the speed waits for Run');
    await runWorld(page);
    await until(page, 'it is squeezed', () => pliant.frame.time > 1.5 && pliant.frame.time < 2);
    await page.click('#run');
    await until(page, 'it is paused', () => pliant.frame.clock === 'paused');
    const narrow = await width();
    assert.ok(narrow < 0.064, `the fingers squeeze it to less than 64 mm, not ${narrow}`);
    assert.ok((await census(page)).red.count > 40, 'it is still red');
    await portray(browser, page, 'ladybird');
  });
});
