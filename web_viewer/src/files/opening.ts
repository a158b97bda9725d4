// Creates a world and runs it: from files, of which those are uploaded that the server lacks, or from one of the
// server's scenes.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ObjectService } from '../gen/pliant/v1/objects_pb';
import { WorldService, type CreateWorldRequestSchema } from '../gen/pliant/v1/world_pb';
import type { Ask } from '../link/description';
import type { GivenFile } from './given';
import { neededFiles } from './needed';
import { Sha256 } from './sha256';

// Files, or the name of one of the server's scenes.
export type Given = GivenFile[] | string;

// State of an opening, as shown to the user.
export interface OpeningInfo {
  state: 'working' | 'done' | 'failed' | 'cancelled';
  title: string; // the files or the scene
  text: string; // the current activity, or the problem
  share: number; // progress of the activity, 0 … 1
  world: string; // name of the new world, once it is done
  warnings: string[]; // the server's corrections to the files then, each with its place
}

export interface OpeningPort {
  ask: Ask; // waits a few seconds for the reply
  askLong: Ask; // waits as long as it takes
  show(info: OpeningInfo): void;
  sleep(ms: number): Promise<void>;
}

const kChunk = 256 << 10; // small, so that a reply over a slow link takes only seconds [B]
const kMaxAsked = 1000; // objects in one request
const kIdleTimeout = 3600; // time without viewers after which the server deletes the world [s]
const kPollMs = 200;

class Cancelled extends Error {}

export class Opening {
  private cancelled = false;
  private creating = ''; // name of the world while it is created
  private readonly title: string;

  constructor(
    private readonly port: OpeningPort,
    private readonly given: Given,
  ) {
    this.title = typeof given === 'string' ? sceneTitle(given) : titleOf(given);
  }

  // Resolves when the result was shown.
  async run(): Promise<void> {
    try {
      const { name, warnings } = await this.open();
      this.show('done', '', 1, name, warnings);
    } catch (error) {
      if (this.cancelled) return this.show('cancelled', '', 0);
      this.show('failed', (error as Error).message, 0);
    }
  }

  cancel(): void {
    this.cancelled = true;
    // deleting a world under construction ends its creation
    if (this.creating) this.port.ask(WorldService.method.deleteWorld, { name: this.creating }).catch(() => undefined);
  }

  private async open(): Promise<{ name: string; warnings: string[] }> {
    const id = newWorldId(this.title);
    const warnings =
      typeof this.given === 'string'
        ? await this.create({ worldId: id, source: { case: 'shippedScene', value: this.given } })
        : await this.create({ worldId: id, source: { case: 'imported', value: {} }, files: await this.send(this.given) });
    const name = `worlds/${id}`;
    await this.port.askLong(WorldService.method.setClock, { name, mode: { case: 'realTime', value: { factor: 1 } } });
    return { name, warnings };
  }

  // Uploads files, and returns the hash of each.
  private async send(given: GivenFile[]): Promise<Record<string, string>> {
    this.show('working', 'Reading …', 0);
    const files = await neededFiles(given);
    if (files.length === 0) throw new Error('No file was given. Drop robots, meshes or a scene, or their folder.');
    const sums = await this.hash(files);
    await this.upload(files, sums);
    return Object.fromEntries(files.map(({ path }, i) => [path, sums[i]]));
  }

  private async hash(files: GivenFile[]): Promise<string[]> {
    const total = sizeOf(files);
    let read = 0;
    const sums: string[] = [];
    for (const { content } of files) {
      const sum = new Sha256();
      for await (const chunk of chunksOf(content)) {
        sum.add(chunk);
        read += chunk.length;
        this.show('working', `Reading ${megabytes(total)} …`, read / total);
      }
      sums.push(sum.finish());
    }
    return sums;
  }

  private async upload(files: GivenFile[], sums: string[]): Promise<void> {
    const wanted = [...new Set(sums)];
    const missing: string[] = [];
    for (let at = 0; at < wanted.length; at += kMaxAsked) {
      const sha256 = wanted.slice(at, at + kMaxAsked);
      missing.push(...(await this.port.ask(ObjectService.method.findMissingObjects, { sha256 })).sha256);
    }
    const left = missing.map((sha256) => ({ sha256, content: files[sums.indexOf(sha256)].content }));
    const total = sizeOf(left);
    let sent = 0;
    for (const { sha256, content } of left) {
      const size = BigInt(content.size);
      let offset = 0;
      for (let complete = false; !complete; ) {
        this.show('working', `Uploading ${megabytes(total)} …`, total > 0 ? (sent + offset) / total : 1);
        const data = new Uint8Array(await content.slice(offset, offset + kChunk).arrayBuffer());
        const request = { sha256, size, offset: BigInt(offset), data };
        const reply = await this.port.askLong(ObjectService.method.uploadObject, request);
        offset = Number(reply.received);
        complete = reply.complete;
      }
      sent += content.size;
    }
  }

  // Returns the server's warnings.
  private async create(request: MessageInitShape<typeof CreateWorldRequestSchema>): Promise<string[]> {
    this.show('working', 'Creating the world …', 0);
    this.creating = `worlds/${request.worldId}`;
    let created = false;
    const world = this.port
      .askLong(WorldService.method.createWorld, { ...request, idleTimeout: kIdleTimeout })
      .finally(() => (created = true));
    void this.follow(this.creating, () => created);
    const { warnings } = await world;
    if (this.cancelled) throw new Cancelled();
    this.creating = '';
    return warnings;
  }

  // Shows the progress of a creation until `ended` is true.
  private async follow(name: string, ended: () => boolean): Promise<void> {
    for (;;) {
      await this.port.sleep(kPollMs);
      if (ended() || this.cancelled) return;
      const creation = await this.port.ask(WorldService.method.getWorld, { name }).then(
        (world) => world.creation,
        () => undefined,
      );
      if (!ended() && !this.cancelled && creation) this.show('working', 'Creating the world …', creation.progress);
    }
  }

  private show(state: OpeningInfo['state'], text: string, share: number, world = '', warnings: string[] = []): void {
    if (state === 'working' && this.cancelled) throw new Cancelled();
    this.port.show({ state, title: this.title, text, share, world, warnings });
  }
}

async function* chunksOf(content: Blob): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.size; at += 4 * kChunk) {
    yield new Uint8Array(await content.slice(at, at + 4 * kChunk).arrayBuffer());
  }
}

function sizeOf(files: { content: Blob }[]): number {
  return files.reduce((sum, { content }) => sum + content.size, 0);
}

export function megabytes(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
}

// The dropped folders and files, by name.
export function titleOf(given: GivenFile[]): string {
  const names = [...new Set(given.map(({ path }) => path.split('/')[0]))];
  if (names.length <= 2) return names.join(' and ');
  return `${names[0]} and ${names.length - 1} others`;
}

// The name of a scene, as shown to the user: iiwa_wsg becomes “iiwa wsg”.
export function sceneTitle(name: string): string {
  return name.replaceAll('_', ' ');
}

// An id for the world, named after its files, with a random tail so that it is most likely free.
export function newWorldId(title: string): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
  const tail = Array.from(crypto.getRandomValues(new Uint8Array(6)), (x) => letters[x % letters.length]).join('');
  const stem = title.toLowerCase().replace(/\.[^.]*$/, '').replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  return `${stem.slice(0, 40) || 'files'}-${tail}`;
}
