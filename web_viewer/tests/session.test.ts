import { create, fromBinary, toBinary, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ClientMessageSchema, ServerMessageSchema, type ClientMessage } from '../src/gen/pliant/v1/gateway_pb';
import { AcquireLeaseRequestSchema, LeaseSchema } from '../src/gen/pliant/v1/control_pb';
import { FindMissingObjectsResponseSchema } from '../src/gen/pliant/v1/objects_pb';
import {
  CreateWorldRequestSchema,
  ListWorldsResponseSchema,
  WorldDescriptionSchema,
  ServerInfoSchema, WorldSchema,
} from '../src/gen/pliant/v1/world_pb';
import type { Connection, FrameInfo, ToPage } from '../src/link/messages';
import { kProtocol, Session } from '../src/link/session';

type Answer = NonNullable<MessageInitShape<typeof ServerMessageSchema>['message']>;

// Kind of a message: the name of the called method, or of the member of the envelope.
function kindOf({ message }: ClientMessage): string {
  if (message.case !== 'call') return message.case ?? '';
  const name = message.value.method.split('/')[1];
  return name[0].toLowerCase() + name.slice(1);
}

function response<T extends DescMessage>(schema: T, value: MessageInitShape<T>): Answer {
  return { case: 'reply', value: toBinary(schema, create(schema, value)) };
}

// A socket with the test as its server.
class Socket {
  readyState = 0;
  binaryType = '';
  protocol = '';
  sent: ClientMessage[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;

  send(bytes: Uint8Array): void {
    this.sent.push(fromBinary(ClientMessageSchema, bytes));
  }
  close(): void {
    this.readyState = 3;
  }
  open(protocol = kProtocol): void {
    this.readyState = 1;
    this.protocol = protocol;
    this.onopen?.();
  }
  fail(code = 1006, reason = ''): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
  say(message: Answer, requestId = 0n): void {
    const bytes = toBinary(ServerMessageSchema, create(ServerMessageSchema, { requestId, message }));
    this.onmessage?.({ data: bytes.slice().buffer });
  }
  // Replies to the last request of a kind.
  async reply(kind: string, message: Answer): Promise<void> {
    await vi.waitFor(() => expect(this.asked(kind)).toBeDefined());
    this.say(message, this.asked(kind)!.requestId);
    await Promise.resolve();
  }
  asked(kind: string): ClientMessage | undefined {
    return this.sent.filter((message) => kindOf(message) === kind).at(-1);
  }
}

let sockets: Socket[];
let posted: ToPage[];
let healthy: boolean;
let session: Session;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  [sockets, posted, healthy] = [[], [], false];
  session = new Session({
    openSocket: () => {
      sockets.push(new Socket());
      return sockets.at(-1) as unknown as WebSocket;
    },
    healthy: () => Promise.resolve(healthy),
    post: (message) => posted.push(message),
    now: () => performance.now(),
  });
  session.receive({
    kind: 'start',
    socketUrl: 'ws://host:1/ws',
    healthUrl: 'http://host:1/healthz',
    world: '',
    client: 'viewer-test',
    token: '',
    measure: 1,
  });
});

afterEach(() => vi.useRealTimers());

function connection(): Connection {
  const last = posted.filter((message) => message.kind === 'connection').at(-1);
  return (last as { connection: Connection }).connection;
}

function frames(): FrameInfo[] {
  return posted.flatMap((message) => (message.kind === 'frame' ? [message.frame] : []));
}

async function goLive(socket: Socket, role = 'operator'): Promise<void> {
  socket.open();
  await socket.reply('hello', { case: 'welcome', value: { version: '1', defaultWorld: 'worlds/default' } });
  const bodies = [{ name: 'paddle', motion: 2 }];
  await socket.reply('describeWorld', response(WorldDescriptionSchema, { name: 'worlds/default', rigidBodies: bodies }));
  await socket.reply('getWorld', response(WorldSchema, { name: 'worlds/default', callerRole: role }));
  await vi.waitFor(() => expect(connection().state).toBe('live'));
}

function frame(id: number): Answer {
  return { case: 'stream', value: { message: { case: 'frame', value: { frame: BigInt(id), step: BigInt(id), epoch: 1 } } } };
}

describe('a session', () => {
  test('greets, asks what there is to see, and subscribes', async () => {
    await goLive(sockets[0]);
    expect(sockets[0].sent.map(kindOf)).toEqual(['hello', 'describeWorld', 'getWorld', 'subscribe', 'getServer']);
    expect(posted.find((message) => message.kind === 'world')).toBeDefined();
  });

  test('tells the page whether its user may only watch', async () => {
    await goLive(sockets[0], 'viewer');
    sockets[0].fail(1001);
    await vi.advanceTimersByTimeAsync(1000);
    await goLive(sockets[1], 'operator');
    const worlds = posted.flatMap((message) => (message.kind === 'world' ? [message.world] : []));
    expect(worlds.map(({ watchesOnly }) => watchesOnly)).toEqual([true, false]);
  });

  test('gives the page one frame at a time, the latest, and acknowledges what was drawn', async () => {
    await goLive(sockets[0]);
    for (const id of [1, 2, 3]) sockets[0].say(frame(id));
    expect(frames().map((each) => each.frame)).toEqual([1]);
    session.receive({ kind: 'drawn', frame: 1, buffers: [] });
    expect(frames().map((each) => each.frame)).toEqual([1, 3]);
    const ack = sockets[0].asked('subscribe')!.message.value as { message: { case: string; value: { frame: bigint } } };
    expect(ack.message).toMatchObject({ case: 'ack', value: { frame: 1n } });
  });

  test('connects again after the server went away, and describes the world again', async () => {
    await goLive(sockets[0]);
    sockets[0].fail(1001);
    expect(connection()).toMatchObject({ state: 'lost', text: 'The server is shutting down.' });
    await vi.advanceTimersByTimeAsync(1000);
    expect(sockets).toHaveLength(2);
    await goLive(sockets[1]);
    expect(posted.filter((message) => message.kind === 'world')).toHaveLength(2);
  });

  test('never acknowledges a frame of the connection before', async () => {
    await goLive(sockets[0]);
    sockets[0].say(frame(7));
    sockets[0].fail();
    await vi.advanceTimersByTimeAsync(1000);
    await goLive(sockets[1]);
    session.receive({ kind: 'drawn', frame: 7, buffers: [] });
    expect(sockets[1].sent.filter(({ message }) => message.case === 'subscribe')).toHaveLength(1);
    sockets[1].say(frame(1));
    expect(frames().at(-1)!.frame).toBe(1);
  });

  test('says that no server is there', async () => {
    sockets[0].fail();
    await vi.waitFor(() => expect(connection().state).toBe('lost'));
    expect(connection().text).toContain('No Pliant server answers at host:1');
  });

  test('says that the server is there and refuses', async () => {
    healthy = true;
    sockets[0].fail();
    await vi.waitFor(() => expect(connection().state).toBe('lost'));
    expect(connection().text).toContain('refuses the viewer');
  });

  test('says that the server speaks something else', async () => {
    sockets[0].open('');
    await vi.waitFor(() => expect(connection().state).toBe('lost'));
    expect(connection().text).toContain(kProtocol);
  });

  test('asks for a token where one is needed, and connects with it', async () => {
    const unauthenticated: Answer = { case: 'status', value: { code: 16, message: 'the token is unknown' } };
    sockets[0].open();
    await sockets[0].reply('hello', unauthenticated);
    await vi.waitFor(() => expect(connection().state).toBe('no_token'));
    expect(connection().text).not.toContain('unknown');
    expect(sockets[0].readyState).toBe(3);

    // nothing is tried until the user has given one
    session.receive({ kind: 'retry' });
    await vi.advanceTimersByTimeAsync(20000);
    expect(sockets).toHaveLength(1);

    session.receive({ kind: 'token', token: 'wrong' });
    sockets[1].open();
    await sockets[1].reply('hello', unauthenticated);
    await vi.waitFor(() => expect(connection().text).toContain('the token is unknown'));
    session.receive({ kind: 'token', token: 'right' });
    await goLive(sockets[2]);
    expect(sockets[2].sent[0].message.value).toMatchObject({ token: 'right' });
  });

  test('waits for a world where there is none, and shows it when it comes', async () => {
    sockets[0].open();
    await sockets[0].reply('hello', { case: 'welcome', value: { version: '1' } });
    await sockets[0].reply('listWorlds', response(ListWorldsResponseSchema, {}));
    await vi.waitFor(() => expect(connection().state).toBe('no_world'));
    sockets[0].sent = [];
    await vi.advanceTimersByTimeAsync(2100);
    await goLive(sockets[0]);
  });

  test('shows no world that is still being created', async () => {
    sockets[0].open();
    await sockets[0].reply('hello', { case: 'welcome', value: { version: '1' } });
    const worlds = [{ name: 'worlds/a', creation: { progress: 0.5 } }, { name: 'worlds/b' }];
    await sockets[0].reply('listWorlds', response(ListWorldsResponseSchema, { worlds }));
    await vi.waitFor(() => expect(sockets[0].asked('describeWorld')).toBeDefined());
    await sockets[0].reply('describeWorld', response(WorldDescriptionSchema, { name: 'worlds/b' }));
    await sockets[0].reply('getWorld', response(WorldSchema, { name: 'worlds/b' }));
    await vi.waitFor(() => expect(connection().state).toBe('live'));
    const { message } = sockets[0].asked('subscribe')!;
    expect(message.value).toMatchObject({ message: { value: { world: 'worlds/b' } } });
  });

  test('waits longer between attempts, but never longer than 6 s', async () => {
    const waits: number[] = [];
    for (let i = 0; i < 12; ++i) {
      sockets.at(-1)!.fail();
      await vi.waitFor(() => expect(connection().state).toBe('lost'));
      waits.push(connection().retryInMs);
      await vi.advanceTimersByTimeAsync(connection().retryInMs + 5);
    }
    expect(waits[0]).toBeLessThan(400);
    expect(waits[11]).toBeGreaterThan(3900);
    expect(Math.max(...waits)).toBeLessThanOrEqual(6000);
  });

  test('passes on what the server says about a call', async () => {
    await goLive(sockets[0]);
    session.receive({ kind: 'call', id: 3, call: { op: 'reset' } });
    await sockets[0].reply('resetWorld', { case: 'status', value: { code: 9, message: 'not now' } });
    await vi.waitFor(() => expect(posted.at(-1)).toEqual({ kind: 'reply', id: 3, error: 'not now' }));
  });

  test('drives under a lease, and never repeats a command after a reconnect', async () => {
    await goLive(sockets[0]);
    session.receive({ kind: 'drive', target: 'paddle', motion: { kind: 'twist', controller: '', linear: [1, 0, 0], angular: [0, 0, 0] } });
    await sockets[0].reply('acquireLease', response(LeaseSchema, { leaseId: 'L', target: 'paddle' }));
    await vi.waitFor(() => expect(sockets[0].asked('command')).toBeDefined());
    sockets[0].fail();
    await vi.advanceTimersByTimeAsync(1000);
    await goLive(sockets[1]);
    session.tick();
    expect(sockets[1].asked('command')).toBeUndefined();
    expect(sockets[1].asked('acquireLease')).toBeUndefined();
  });

  test('asks for a lease on a group, with the priority that the user chose', async () => {
    await goLive(sockets[0]);
    session.receive({ kind: 'priority', priority: 30 });
    session.receive({ kind: 'drive', target: 'arm/hand', motion: { kind: 'gamepad', axes: [1], buttons: [] } });
    await vi.waitFor(() => expect(sockets[0].asked('acquireLease')).toBeDefined());
    const { message } = sockets[0].asked('acquireLease')!;
    const request = fromBinary(AcquireLeaseRequestSchema, (message.value as { request: Uint8Array }).request);
    expect(request).toMatchObject({ target: 'arm/hand', priority: 30 });
  });

  test('sends a robot its joint targets, and tells its page alone when they are refused', async () => {
    await goLive(sockets[0]);
    const setting = { kind: 'joints', joints: ['elbow', 'wrist'], values: [0.5, -1] } as const;
    session.receive({ kind: 'set', target: 'arm', setting: { ...setting, joints: [...setting.joints], values: [...setting.values] }, fresh: true });
    await sockets[0].reply('acquireLease', response(LeaseSchema, { leaseId: 'A', target: 'arm' }));
    session.receive({ kind: 'drive', target: 'paddle', motion: { kind: 'twist', controller: '', linear: [1, 0, 0], angular: [0, 0, 0] } });
    await sockets[0].reply('acquireLease', response(LeaseSchema, { leaseId: 'P', target: 'paddle' }));
    await vi.waitFor(() => expect(sockets[0].sent.filter(({ message }) => message.case === 'command')).toHaveLength(2));
    const [first, second] = sockets[0].sent.flatMap(({ message }) => (message.case === 'command' ? [message.value] : []));
    expect(first.leaseId).toBe('A');
    expect(first.command).toMatchObject({ case: 'jointTargets', value: { joints: ['elbow', 'wrist'], values: [0.5, -1] } });
    expect(second.sequence).toBeGreaterThan(first.sequence);

    sockets[0].say({ case: 'command', value: { sequence: first.sequence, refused: 'robot "arm" has no joint "wrist"' } });
    const leases = posted.flatMap((message) => (message.kind === 'lease' ? [message.lease] : []));
    expect(leases.at(-1)).toMatchObject({ state: 'lost', target: 'arm' });
    expect(leases.filter(({ target }) => target === 'paddle').at(-1)).toMatchObject({ state: 'held' });
  });

  test('pulls a vertex, and says of which epoch the world is that it shows', async () => {
    await goLive(sockets[0]);
    sockets[0].say({ case: 'stream', value: { message: { case: 'frame', value: { frame: 1n, epoch: 4, keyframe: true } } } });
    const spring = { kind: 'spring', link: '', point: null, vertex: 17, anchor: [0, 0, 1] } as const;
    session.receive({ kind: 'drive', target: 'ball', motion: { ...spring, anchor: [0, 0, 1] } });
    await sockets[0].reply('acquireLease', response(LeaseSchema, { leaseId: 'B', target: 'ball' }));
    await vi.waitFor(() => expect(sockets[0].asked('command')).toBeDefined());
    const { message } = sockets[0].asked('command')!;
    expect(message.value).toMatchObject({ leaseId: 'B', epoch: 4 });
    expect(message.case === 'command' && message.value.command).toMatchObject({
      case: 'spring', value: { link: '', point: [], vertex: 17, anchor: [0, 0, 1] },
    });
  });

  test('tells the page which scenes the server offers, and creates a world of one', async () => {
    await goLive(sockets[0]);
    await sockets[0].reply('getServer', response(ServerInfoSchema, { shippedScenes: ['soft_ball', 'chain'] }));
    await vi.waitFor(() => expect(posted).toContainEqual({ kind: 'scenes', names: ['soft_ball', 'chain'] }));
    session.receive({ kind: 'open', given: 'soft_ball' });
    await vi.waitFor(() => expect(sockets[0].asked('createWorld')).toBeDefined());
    const { requestId, message } = sockets[0].asked('createWorld')!;
    const request = fromBinary(CreateWorldRequestSchema, (message.value as { request: Uint8Array }).request);
    expect(request.source).toEqual({ case: 'shippedScene', value: 'soft_ball' });
    expect(request.worldId).toMatch(/^soft-ball-[a-z0-9]{6}$/);
    const name = `worlds/${request.worldId}`;
    sockets[0].say(response(WorldSchema, { name }), requestId);
    await sockets[0].reply('setClock', response(WorldSchema, { name }));
    await vi.waitFor(() => expect(sockets).toHaveLength(2));
    const openings = posted.flatMap((each) => (each.kind === 'opening' ? [each.opening] : []));
    expect(openings.at(-1)).toMatchObject({ state: 'done', title: 'soft ball', world: name });
  });

  test('waits as long as a world of files is created, and then shows it over another connection', async () => {
    await goLive(sockets[0]);
    session.receive({ kind: 'open', given: [{ path: 'part.stl', content: new Blob(['solid']) }] });
    await sockets[0].reply('findMissingObjects', response(FindMissingObjectsResponseSchema, {}));
    await vi.waitFor(() => expect(sockets[0].asked('createWorld')).toBeDefined());
    const { requestId, message } = sockets[0].asked('createWorld')!;
    const request = fromBinary(CreateWorldRequestSchema, (message.value as { request: Uint8Array }).request);
    expect(Object.keys(request.files)).toEqual(['part.stl']);
    const name = `worlds/${request.worldId}`;

    for (let seconds = 0; seconds < 20; ++seconds) {
      await vi.advanceTimersByTimeAsync(1000);
      session.tick();
      await sockets[0].reply('getWorld', response(WorldSchema, { name, creation: { progress: 0.1 } }));
    }
    sockets[0].say(response(WorldSchema, { name }), requestId);
    await sockets[0].reply('setClock', response(WorldSchema, { name }));
    await vi.waitFor(() => expect(sockets).toHaveLength(2));
    const openings = posted.flatMap((each) => (each.kind === 'opening' ? [each.opening] : []));
    expect(openings.at(-1)).toMatchObject({ state: 'done', world: name });
    expect(sockets[0].readyState).toBe(3);
    await goLive(sockets[1]);
    expect(sockets[1].asked('subscribe')!.message.value).toMatchObject({ message: { value: { world: name } } });

    // and back
    session.receive({ kind: 'show', world: '' });
    await goLive(sockets[2]);
    expect(sockets[2].asked('subscribe')!.message.value).toMatchObject({ message: { value: { world: 'worlds/default' } } });
  });

  test('drops a connection that fell silent', async () => {
    await goLive(sockets[0]);
    await vi.advanceTimersByTimeAsync(6500);
    session.tick();
    expect(sockets[0].readyState).toBe(3);
    expect(connection()).toMatchObject({ state: 'lost', text: 'The server went silent.' });
  });
});
