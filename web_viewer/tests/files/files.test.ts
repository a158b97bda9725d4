import { describe, expect, test } from 'vitest';
import { droppedFiles, type GivenFile } from '../../src/files/given';
import { mentions, neededFiles } from '../../src/files/needed';
import { megabytes, newWorldId, Opening, titleOf, type OpeningInfo, type OpeningPort } from '../../src/files/opening';
import { Sha256 } from '../../src/files/sha256';

function given(files: Record<string, string>): GivenFile[] {
  return Object.entries(files).map(([path, text]) => ({ path, content: new Blob([text]) }));
}

async function neededOf(files: Record<string, string>): Promise<string[]> {
  return (await neededFiles(given(files))).map(({ path }) => path);
}

// Digest by the runtime's own implementation.
async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function sha256(text: string): string {
  const sum = new Sha256();
  sum.add(new TextEncoder().encode(text));
  return sum.finish();
}

describe('SHA-256', () => {
  test('is that of the standard for every length around a block, in any pieces', async () => {
    for (let length = 0; length < 200; ++length) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 151 + length) & 255);
      const sum = new Sha256();
      const cut = Math.floor((length * 7) / 11);
      sum.add(bytes.subarray(0, cut));
      sum.add(bytes.subarray(cut));
      expect(sum.finish(), String(length)).toBe(await digest(bytes));
    }
  });
});

describe('dropped files', () => {
  // An item of a DataTransfer; folders hand out their entries one by one.
  function entry(path: string, content: string | object[]): object {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (typeof content === 'string') {
      const file = (done: (file: Blob) => void): void => done(new Blob([content]));
      return { name, fullPath: path, isDirectory: false, file };
    }
    const createReader = (): object => {
      const left = [...content];
      return { readEntries: (done: (part: object[]) => void) => done(left.splice(0, 1)) };
    };
    return { name, fullPath: path, isDirectory: true, createReader };
  }
  function drop(...entries: object[]): DataTransfer {
    const items = entries.map((each) => ({ kind: 'file', webkitGetAsEntry: () => each }));
    return { items, files: [] } as unknown as DataTransfer;
  }

  test('have their paths below the dropped folder, without hidden ones', async () => {
    const meshes = entry('/arm/meshes', [entry('/arm/meshes/a.stl', 'A'), entry('/arm/meshes/b.stl', 'B')]);
    const folder = entry('/arm', [entry('/arm/.git', [entry('/arm/.git/x', 'X')]), entry('/arm/arm.urdf', 'U'), meshes]);
    const files = await droppedFiles(drop(folder, entry('/part.stl', 'P')));
    const paths = files.map(({ path }) => path).sort();
    expect(paths).toEqual(['arm/arm.urdf', 'arm/meshes/a.stl', 'arm/meshes/b.stl', 'part.stl']);
    expect(await files.find(({ path }) => path === 'arm/meshes/b.stl')!.content.text()).toBe('B');
  });
});

describe('needed files', () => {
  test('are not a whole folder without any of use', async () => {
    expect(await neededOf({ 'scan.txt': 'v 0 0 0' })).toEqual(['scan.txt']); // the server judges by the content
    const photos = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`photos/${i}.jpg`, '']));
    await expect(neededOf(photos)).rejects.toThrow('None of the 11 files is a scene (YAML), robot (URDF');
    const large = { path: 'film.mp4', content: { size: 1e9 } as Blob };
    await expect(neededFiles([large])).rejects.toThrow('film.mp4 is no scene');
  });

  const kUrdf = '<robot><mesh filename="package://arm/meshes/link.stl"/></robot>';

  test('of glTF are the buffers that it names', async () => {
    const gltf = '{"buffers": [{"uri": "my%20toy.bin", "byteLength": 168}]}';
    const files = { 'toy.gltf': gltf, 'my toy.bin': 'x', 'other.bin': 'y' };
    expect(await neededOf(files)).toEqual(['toy.gltf', 'my toy.bin']);
  });

  test('of a package are the robot, what it names and the manifest', async () => {
    const files = {
      'arm/package.xml': '<package><name>arm</name></package>',
      'arm/launch/view.xml': '<launch/>',
      'arm/README.md': 'link.stl',
      'arm/meshes/link.stl': '',
      'arm/meshes/old_link.stl': '',
      'arm/urdf/arm.urdf': kUrdf,
    };
    expect(await neededOf(files)).toEqual(['arm/package.xml', 'arm/meshes/link.stl', 'arm/urdf/arm.urdf']);
  });

  test('are also named by files that were named, and may be loose parts beside a robot', async () => {
    const files = {
      'arm.xml': '<mujoco><include file="tool.xml"/></mujoco>',
      'tool.xml': '<mujocoinclude><mesh file="tool.obj"/></mujocoinclude>',
      'tool.obj': 'mtllib tool.mtl',
      'tool.mtl': 'Kd 1 0 0',
      'part.STL': '',
      'spare/part.stl': '',
    };
    expect(await neededOf(files)).toEqual(['arm.xml', 'tool.xml', 'tool.obj', 'tool.mtl', 'part.STL']);
  });

  test('of a scene in a folder are what it names; other YAML files are no scenes', async () => {
    const files = {
      'box/scene.yaml': 'name: box\nbodies:\n  - {name: a, deformable: {mesh: {file: meshes/a.vtk}}}\n',
      'box/config/gains.yaml': 'gains: {a: 1}',
      'box/meshes/a.vtk': '',
      'box/meshes/b.vtk': '',
    };
    expect(await neededOf(files)).toEqual(['box/scene.yaml', 'box/meshes/a.vtk']);
  });

  test('are all meshes where there is nothing else, and all files where the server has to say what is wrong', async () => {
    expect(await neededOf({ 'parts/a.stl': '', 'parts/b.obj': '', 'parts/notes.txt': '' })).toEqual(['parts/a.stl', 'parts/b.obj']);
    expect(await neededOf({ 'notes.txt': 'hello' })).toEqual(['notes.txt']);
  });

  test('a name counts only where it is not part of a longer one', () => {
    expect(mentions('file: parts/ball.vtk}', 'ball.vtk')).toBe(true);
    expect(mentions('football.vtk, ball.vtk2', 'ball.vtk')).toBe(false);
    expect(mentions('football.vtk ball.vtk', 'ball.vtk')).toBe(true);
    expect(mentions('"uri": "my%20ball.bin"', 'my ball.bin')).toBe(true);
  });
});

describe('opening', () => {
  interface Asked {
    name: string;
    request: Record<string, unknown>;
  }

  // Opens files with a server that has some objects, takes 5 bytes of an upload at a time, and replies to CreateWorld with
  // `create`.
  function open(files: GivenFile[], has: string[], create: (asked: Asked[]) => Promise<object>) {
    const asked: Asked[] = [];
    const shown: OpeningInfo[] = [];
    const ask = async (method: { name: string }, request: Record<string, unknown>): Promise<object> => {
      asked.push({ name: method.name, request });
      switch (method.name) {
        case 'FindMissingObjects':
          return { sha256: (request.sha256 as string[]).filter((sum) => !has.includes(sum)) };
        case 'UploadObject': {
          const received = Math.min(Number(request.size), Number(request.offset) + 5);
          return { received: BigInt(received), complete: received === Number(request.size) };
        }
        case 'CreateWorld':
          return create(asked);
        case 'GetWorld':
          return { creation: { progress: 0.5 } };
      }
      return {};
    };
    const port = { ask, askLong: ask, show: (info: OpeningInfo) => shown.push(info), sleep: () => new Promise((on) => setTimeout(on, 1)) };
    const opening = new Opening(port as unknown as OpeningPort, files);
    return { asked, shown, opening, of: (name: string) => asked.filter((each) => each.name === name).map(({ request }) => request) };
  }

  const kFiles = given({ 'a.stl': 'first', 'copy.stl': 'first', 'b.stl': 'another one', 'known.stl': 'known' });

  test('sends what the server lacks once, has the world made of it and lets it run', async () => {
    const { shown, opening, of } = open(kFiles, [sha256('known')], async () => ({ warnings: ['a.stl: closed'] }));
    await opening.run();
    const sent = of('UploadObject').map(({ sha256: sum, offset, size }) => [sum, Number(offset), Number(size)]);
    const another = sha256('another one');
    expect(sent).toEqual([[sha256('first'), 0, 5], [another, 0, 11], [another, 5, 11], [another, 10, 11]]);
    const [request] = of('CreateWorld');
    expect(request.files).toEqual({
      'a.stl': sha256('first'), 'copy.stl': sha256('first'), 'b.stl': another, 'known.stl': sha256('known'),
    });
    expect(request.source).toEqual({ case: 'imported', value: {} });
    const name = `worlds/${request.worldId as string}`;
    expect(of('SetClock')).toMatchObject([{ name, mode: { case: 'realTime' } }]);
    expect(shown.at(-1)).toMatchObject({ state: 'done', world: name, warnings: ['a.stl: closed'] });
    const shares = shown.filter(({ text }) => text.startsWith('Uploading')).map(({ share }) => share);
    expect(shares).toEqual([...shares].sort((x, y) => x - y));
    expect(shares[0]).toBe(0);
  });

  test('shows the progress of the creation, and what the server says is wrong', async () => {
    const wait = (): Promise<object> => new Promise((_, reject) => setTimeout(() => reject(new Error('a.stl: is no solid')), 60));
    const { shown, opening } = open(kFiles, [], wait);
    await opening.run();
    expect(shown.some(({ text, share }) => text.startsWith('Creating') && share === 0.5)).toBe(true);
    expect(shown.at(-1)).toMatchObject({ state: 'failed', text: 'a.stl: is no solid', world: '' });
  });

  test('that is cancelled ends the creation on the server', async () => {
    const run = open(kFiles, [], async (asked) => {
      setTimeout(() => run.opening.cancel(), 5);
      for (let i = 0; i < 200 && !asked.some(({ name }) => name === 'DeleteWorld'); ++i) await new Promise((on) => setTimeout(on, 2));
      throw new Error('the creation was ended');
    });
    await run.opening.run();
    expect(run.of('DeleteWorld')).toEqual([{ name: `worlds/${run.of('CreateWorld')[0].worldId as string}` }]);
    expect(run.shown.at(-1)!.state).toBe('cancelled');
    expect(run.of('SetClock')).toEqual([]);
  });

  test('that is cancelled while it uploads sends no more', async () => {
    const run = open(kFiles, [], async () => ({}));
    const ended = run.opening.run();
    run.opening.cancel();
    await ended;
    expect(run.of('CreateWorld')).toEqual([]);
    expect(run.shown.at(-1)!.state).toBe('cancelled');
  });

  test('is named after the files, and so is the world', () => {
    expect(titleOf(given({ 'arm/a.urdf': '', 'arm/b.stl': '' }))).toBe('arm');
    expect(titleOf(given({ 'a.stl': '', 'b.stl': '', 'c.stl': '' }))).toBe('a.stl and 2 others');
    expect(newWorldId('My Robot_2.urdf')).toMatch(/^my-robot-2-[a-z0-9]{6}$/);
    expect(newWorldId('机器人.stl')).toMatch(/^files-[a-z0-9]{6}$/);
    expect(newWorldId('x'.repeat(300)).length).toBeLessThanOrEqual(63);
    expect([megabytes(0), megabytes(1500), megabytes(12_345_678)]).toEqual(['0 kB', '2 kB', '12.3 MB']);
  });
});
