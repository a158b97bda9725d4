import { create, toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { FetchObjectResponseSchema } from '../src/gen/pliant/v1/objects_pb';
import { RigidDescriptionSchema, WorldDescriptionSchema } from '../src/gen/pliant/v1/world_pb';
import { Descriptions, type Ask } from '../src/link/description';

const kBody = toBinary(RigidDescriptionSchema, create(RigidDescriptionSchema, { motion: 3 }));
const kObject = { sha256: 'abc', size: BigInt(kBody.length) };

// A server with two pages, whose bodies b and c are the same object, sent byte by byte.
function serve(): { descriptions: Descriptions; asked: string[] } {
  const asked: string[] = [];
  const pages = {
    '': { name: 'worlds/w', timeStep: 0.01, rigidBodies: [{ name: 'a' }, { name: 'b', object: kObject }], nextPageToken: '1' },
    '1': { rigidBodies: [{ name: 'c', object: kObject }], deformables: [{ name: 'd' }] },
  };
  const ask = async (method: { name: string }, request: { pageToken?: string; offset?: bigint }) => {
    asked.push(method.name);
    if (method.name === 'DescribeWorld') return create(WorldDescriptionSchema, pages[request.pageToken as '' | '1']);
    const at = Number(request.offset);
    return create(FetchObjectResponseSchema, { data: kBody.slice(at, at + 1), size: kObject.size });
  };
  return { descriptions: new Descriptions(ask as unknown as Ask), asked };
}

test('pages are one description, and objects the bodies that they stand for', async () => {
  const { descriptions } = serve();
  const whole = await descriptions.fetch('worlds/w');
  expect(whole.name).toBe('worlds/w');
  expect(whole.timeStep).toBe(0.01);
  expect(whole.rigidBodies.map(({ name, motion }) => [name, motion])).toEqual([['a', 0], ['b', 3], ['c', 3]]);
  expect(whole.deformables.map(({ name }) => name)).toEqual(['d']);
});

test('an object is fetched once, also when the world is described anew', async () => {
  const { descriptions, asked } = serve();
  await descriptions.fetch('worlds/w');
  const fetches = asked.filter((name) => name === 'FetchObject').length;
  expect(fetches).toBe(kBody.length);
  await descriptions.fetch('worlds/w');
  expect(asked.filter((name) => name === 'FetchObject')).toHaveLength(fetches);
});

test('images come once, with what their headers say', async () => {
  const image = { object: kObject, mediaType: 'image/png', width: 3, height: 2 };
  const textured = { name: 'a', visuals: [{ appearance: { image } }, { appearance: { image } }, {}] };
  const asked: string[] = [];
  const ask = async (method: { name: string }, { offset }: { offset?: bigint }) => {
    asked.push(method.name);
    if (method.name === 'DescribeWorld') {
      return create(WorldDescriptionSchema, { rigidBodies: [textured], deformables: [{ embedded: [{ appearance: { image } }] }] });
    }
    return create(FetchObjectResponseSchema, { data: kBody.slice(Number(offset)), size: kObject.size });
  };
  const descriptions = new Descriptions(ask as unknown as Ask);
  await descriptions.fetch('worlds/w');
  expect([...descriptions.images]).toEqual([['abc', { bytes: kBody, mediaType: 'image/png', width: 3, height: 2 }]]);
  expect(asked.filter((name) => name === 'FetchObject')).toHaveLength(1);
});
