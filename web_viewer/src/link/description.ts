// Fetches the description of a world: its pages, the bodies that are objects, and the images of its textures.
import {
  create,
  fromBinary,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { ObjectService, type ObjectRef } from '../gen/pliant/v1/objects_pb';
import {
  DeformableDescriptionSchema,
  RigidDescriptionSchema,
  WorldDescriptionSchema,
  WorldService,
  type Appearance,
  type WorldDescription,
} from '../gen/pliant/v1/world_pb';
import type { ImageInfo } from './messages';

export type Ask = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>;

function appearancesIn({ rigidBodies, deformables }: WorldDescription): Appearance[] {
  const parts = [...rigidBodies.flatMap(({ visuals }) => visuals), ...deformables.flatMap(({ embedded }) => embedded)];
  return parts.flatMap(({ appearance }) => appearance ?? []);
}

export class Descriptions {
  private kept = new Map<string, Uint8Array>(); // objects of the last description, by hash

  images = new Map<string, ImageInfo>(); // of the last description, by hash

  constructor(private readonly ask: Ask) {}

  async fetch(name: string): Promise<WorldDescription> {
    const whole = create(WorldDescriptionSchema);
    let pageToken = '';
    do {
      const page = await this.ask(WorldService.method.describeWorld, { name, pageToken, bodiesAsObjects: true });
      const { rigidBodies, deformables } = whole;
      if (pageToken === '') Object.assign(whole, page);
      whole.rigidBodies = rigidBodies.concat(page.rigidBodies);
      whole.deformables = deformables.concat(page.deformables);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');

    const fetched = new Map<string, Uint8Array>();
    for (const [i, body] of whole.rigidBodies.entries()) {
      if (!body.object) continue;
      const bytes = await this.fetchObject(body.object, fetched);
      whole.rigidBodies[i] = { ...fromBinary(RigidDescriptionSchema, bytes), name: body.name };
    }
    for (const [i, body] of whole.deformables.entries()) {
      if (!body.object) continue;
      const bytes = await this.fetchObject(body.object, fetched);
      whole.deformables[i] = { ...fromBinary(DeformableDescriptionSchema, bytes), name: body.name };
    }
    this.images = new Map();
    for (const { image } of appearancesIn(whole)) {
      if (!image?.object || this.images.has(image.object.sha256)) continue;
      const { mediaType, width, height } = image;
      const bytes = await this.fetchObject(image.object, fetched);
      this.images.set(image.object.sha256, { bytes, mediaType, width, height });
    }
    this.kept = fetched;
    return whole;
  }

  // Bodies may share an object. Objects of the last description are not fetched again.
  private async fetchObject({ sha256, size }: ObjectRef, fetched: Map<string, Uint8Array>): Promise<Uint8Array> {
    let bytes = fetched.get(sha256) ?? this.kept.get(sha256);
    if (!bytes) {
      bytes = new Uint8Array(Number(size));
      for (let at = 0; at < bytes.length; ) {
        const { data } = await this.ask(ObjectService.method.fetchObject, { sha256, offset: BigInt(at) });
        if (data.length === 0) throw new Error('The server sent an incomplete description.');
        bytes.set(data, at);
        at += data.length;
      }
    }
    fetched.set(sha256, bytes);
    return bytes;
  }
}
