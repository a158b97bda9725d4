// Connection of one viewer to a server: connect, say hello, describe the world, subscribe, and reconnect when it breaks.
import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { ControlService } from '../gen/pliant/v1/control_pb';
import {
  ClientMessageSchema,
  ServerMessageSchema,
  type ServerMessage,
} from '../gen/pliant/v1/gateway_pb';
import { Tier } from '../gen/pliant/v1/stream_pb';
import { WorldService } from '../gen/pliant/v1/world_pb';
import { Opening, type Given } from '../files/opening';
import { Backoff } from './backoff';
import { BufferPool, LatestFrame, type DrawnBody } from './decode';
import { describeWorld } from './describe';
import { Descriptions } from './description';
import { Leases } from './lease';
import type { Call, Command, Connection, LinkStats, MeasureId, ToPage, ToWorker } from './messages';

type Request = NonNullable<MessageInitShape<typeof ClientMessageSchema>['message']>;
type Reply = ServerMessage['message'];
type CommandMessage = Extract<Request, { case: 'command' }>['value']['command'];
type Start = Extract<ToWorker, { kind: 'start' }>;

// Environment of a session: a browser worker, or a test.
export interface Surroundings {
  openSocket(url: string, protocol: string): WebSocket;
  healthy(url: string): Promise<boolean>; // whether a server answers at this URL
  post(message: ToPage, transfer?: ArrayBuffer[]): void;
  now(): number; // monotonic [ms]
}

export const kProtocol = 'pliant.v1';
const kReplyMs = 5000;
const kPingMs = 1000;
const kSilenceMs = 6000;

// google.rpc codes with their own messages
const kNotFound = 5;
const kUnauthenticated = 16;

// Describes why the server closed the connection, by its own reason if it gave one.
function closeText(event: Pick<CloseEvent, 'code' | 'reason'>): string {
  if (event.reason) return `The server closed the connection: ${event.reason}.`;
  if (event.code === 1001) return 'The server is shutting down.';
  return 'The connection to the server was lost.';
}

function commandMessage(command: Command): CommandMessage {
  switch (command.kind) {
    case 'twist':
      return { case: 'twist', value: { linear: command.linear, angular: command.angular } };
    case 'spring': {
      const { link, point, vertex, anchor } = command;
      return { case: 'spring', value: { link, point: point ?? [], vertex: vertex ?? undefined, anchor } };
    }
    case 'wrench':
      return { case: 'wrench', value: { link: command.link, force: command.force } };
    case 'gamepad':
      return { case: 'gamepad', value: { axes: command.axes, buttons: command.buttons } };
    case 'joints':
      return { case: 'jointTargets', value: { joints: command.joints, values: command.values } };
    case 'gripper':
      return { case: 'gripper', value: { controller: command.controller, position: command.position } };
  }
}

class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

interface Pending {
  resolve(reply: Reply): void;
  reject(error: Error): void;
  sentAt: number;
  timeoutMs: number; // time after which the request fails [ms]
}

export class Session {
  private start: Start | null = null;
  private socket: WebSocket | null = null;
  private pending = new Map<bigint, Pending>();
  private nextRequest = 1n;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly backoff = new Backoff();
  private needsToken = false; // until the user enters one
  private closing = ''; // reason for which this side closed the socket

  private world = '';
  private serverVersion = '';
  private live = false;
  private measure: MeasureId = 1;
  private contacts = true;
  private drawnBodies: DrawnBody[] = []; // the deformable ones
  private tier = Tier.UNSPECIFIED;
  private readonly descriptions = new Descriptions((method, request) => this.ask(method, request));
  private names: string[] = []; // names of the bodies by number in frames
  private readonly latest = new LatestFrame();
  private readonly pool = new BufferPool();
  private pageIsReady = true;
  private pageEpoch = 0; // number of the connection: frames of an earlier one are not acknowledged
  private lastFrameSeen = 0;
  private worldEpoch: number | undefined; // epoch of the last frame; changes at every reset and restore

  private opening: Opening | null = null; // one at a time

  private readonly leases: Leases;
  private priority = 0;
  private sequence = 0; // of commands, increasing across all leases
  private commandsSent = new Map<number, { target: string; at: number }>(); // by sequence
  private heardAt = 0;
  private pingedAt = 0;
  private arrivedAt = new Map<number, number>(); // by frame
  private bytes = 0;
  private received = 0; // frames since the last report
  private acknowledged = 0;
  private stats: LinkStats = {
    framesReceived: 0,
    framesSkipped: 0,
    framesPerSecond: 0,
    drawnPerSecond: 0,
    bytesPerSecond: 0,
    ackLagMs: 0,
    roundTripMs: 0,
    roundTripOf: 'nothing',
  };
  private statsAt = 0;

  constructor(private readonly around: Surroundings) {
    this.leases = new Leases({
      acquire: async (target, takeover) => {
        const client = this.start?.client ?? '';
        const request = { world: this.world, target, client, takeover, priority: this.priority };
        return (await this.ask(ControlService.method.acquireLease, request)).leaseId;
      },
      release: (leaseId) => {
        // if the release fails, the lease has already ended
        this.ask(ControlService.method.releaseLease, { world: this.world, leaseId }).catch(() => undefined);
      },
      command: (target, leaseId, command) => this.command(target, leaseId, command),
      changed: (lease) => this.around.post({ kind: 'lease', lease }),
    });
  }

  receive(message: ToWorker): void {
    switch (message.kind) {
      case 'start':
        this.start = message;
        this.measure = message.measure;
        return this.connect();
      case 'token':
        if (this.start) this.start = { ...this.start, token: message.token };
        this.needsToken = false;
        this.abandon();
        return this.connect();
      case 'measure':
        this.measure = message.measure;
        return this.subscribe();
      case 'contacts':
        this.contacts = message.on;
        return this.subscribe();
      case 'drawn':
        return this.drawn(message.frame, message.buffers);
      case 'drive':
        if (this.live) this.leases.drive(message.target, message.motion, this.around.now());
        return;
      case 'letGo':
        return this.leases.letGo(this.around.now());
      case 'set':
        if (this.live) this.leases.of(message.target).set(message.setting, message.fresh, this.around.now());
        return;
      case 'release':
        return this.leases.of(message.target).release();
      case 'takeover':
        if (this.live) this.leases.of(message.target).takeover(this.around.now());
        return;
      case 'priority':
        this.priority = message.priority;
        return;
      case 'call':
        void this.call(message.id, message.call);
        return;
      case 'show':
        return this.showWorld(message.world);
      case 'open':
        void this.open(message.given);
        return;
      case 'cancelOpening':
        return this.opening?.cancel();
      case 'retry':
        if (!this.socket && this.start && !this.needsToken) this.connect();
        return;
    }
  }

  // Call every few milliseconds.
  tick(): void {
    const now = this.around.now();
    this.leases.tick(now);
    for (const [id, request] of this.pending) {
      if (now - request.sentAt < request.timeoutMs) continue;
      this.pending.delete(id);
      request.reject(new Error('The server did not answer within 5 s.'));
    }
    if (this.live && now - this.pingedAt > kPingMs) this.ping(now);

    // drop a connection that went silent without being closed: sleep, an unplugged cable, a stopped process
    if (this.socket && now - this.heardAt > kSilenceMs) this.drop('The server went silent.');
    if (now - this.statsAt > 500) this.report(now);
  }

  // --- connecting

  private connect(): void {
    clearTimeout(this.retryTimer);
    if (!this.start) return;
    this.say('connecting', 'Connecting to the server …');
    this.heardAt = this.around.now();
    this.closing = '';
    let opened = false;
    let socket: WebSocket;
    try {
      socket = this.around.openSocket(this.start.socketUrl, kProtocol);
    } catch (error) {
      return this.retryLater(`This page cannot open ${this.start.socketUrl}: ${(error as Error).message}`);
    }
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      opened = true;
      this.heardAt = this.around.now();
      void this.introduce(socket);
    };
    socket.onmessage = (event) => {
      if (socket === this.socket) this.hear(event.data);
    };
    socket.onclose = (event) => {
      if (socket !== this.socket) return;
      this.forget();
      if (this.closing) return this.retryLater(this.closing);
      if (opened) return this.retryLater(closeText(event));
      void this.explainRefusal();
    };
  }

  // Says hello, chooses the world, gets its description and subscribes to its frames.
  private async introduce(socket: WebSocket): Promise<void> {
    try {
      if (socket.protocol !== kProtocol) {
        throw new Error(`The server does not speak ${kProtocol}: viewer and server have different versions.`);
      }
      const welcome = await this.request({
        case: 'hello',
        value: { client: this.start?.client ?? '', token: this.start?.token ?? '' },
      });
      if (welcome.case !== 'welcome') throw new Error('The server sent an unexpected reply to the hello message.');
      this.serverVersion = welcome.value.version;
      this.world = this.start?.world || welcome.value.defaultWorld || (await this.firstWorld());
      if (!this.world) throw new Refusal(kNotFound, '');
      await this.describe();
      this.backoff.reset();
      this.live = true;
      this.subscribe();
      this.say('live', 'Connected');
      void this.listScenes();
    } catch (error) {
      if (socket !== this.socket) return;
      if (error instanceof Refusal && error.code === kNotFound) return this.noWorld(socket);
      if (error instanceof Refusal && error.code === kUnauthenticated) {
        return this.noToken(this.start?.token ? `The server refused the token: ${error.message}.` : '');
      }
      this.drop((error as Error).message);
    }
  }

  private async describe(): Promise<void> {
    const [description, { callerRole }] = await Promise.all([
      this.descriptions.fetch(this.world),
      this.ask(WorldService.method.getWorld, { name: this.world }),
    ]);
    const { images } = this.descriptions;
    const watchesOnly = callerRole === 'viewer';
    const { world, drawn, names, tier } = describeWorld(description, this.serverVersion, watchesOnly, images);
    this.drawnBodies = drawn;
    this.tier = tier;
    this.names = names;
    this.latest.clear();
    this.pool.clear();
    this.arrivedAt.clear();
    this.worldEpoch = undefined;
    this.around.post({ kind: 'world', world });
  }

  private async firstWorld(): Promise<string> {
    const { worlds } = await this.ask(WorldService.method.listWorlds, {});
    return worlds.find(({ creation }) => !creation)?.name ?? '';
  }

  // Sends the page the names of the scenes that the server offers.
  private async listScenes(): Promise<void> {
    const server = await this.ask(WorldService.method.getServer, {}).catch(() => null);
    if (server) this.around.post({ kind: 'scenes', names: server.shippedScenes });
  }

  // The server is running but has no world to show: stay connected and try again.
  private noWorld(socket: WebSocket): void {
    this.live = false;
    this.leases.disconnected();
    const which = this.start?.world ? `no world “${this.start.world}”` : 'no world';
    this.say('no_world', `The server is running, but has ${which}. Choose an example, drop files here, or run: pliant world create SCENE.yaml`);
    void this.listScenes();
    this.heardAt = this.around.now();
    this.retryTimer = setTimeout(() => {
      if (socket === this.socket) void this.introduce(socket);
    }, 2000);
  }

  // The server admits only clients with a token, which the user must enter.
  private noToken(reason: string): void {
    this.abandon();
    this.needsToken = true;
    this.say('no_token', `${reason} Enter the token that you were given for this server.`.trim());
  }

  private async explainRefusal(): Promise<void> {
    if (!this.start) return;
    const { host } = new URL(this.start.socketUrl);
    const answers = await this.around.healthy(this.start.healthUrl);
    if (this.socket) return;
    this.retryLater(
      answers
        ? `The server at ${host} answers but refuses the viewer's connection: ` +
            'it may have a different version, or not allow pages from this address.'
        : `No Pliant server answers at ${host}. Start one with ./dev run; this page will connect automatically.`,
    );
  }

  private retryLater(text: string): void {
    const wait = this.backoff.nextMs();
    this.say('lost', text, wait);
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => {
      if (!this.socket) this.connect();
    }, wait);
  }

  private drop(reason: string): void {
    this.closing = reason;
    this.abandon();
    this.retryLater(reason);
  }

  // Closes the connection, if there is one, and schedules no retry.
  private abandon(): void {
    const socket = this.socket;
    this.forget();
    socket?.close();
  }

  private forget(): void {
    this.socket = null;
    this.live = false;
    this.latest.clear();
    this.arrivedAt.clear();
    this.commandsSent.clear();
    this.pageEpoch += 1;
    for (const request of this.pending.values()) request.reject(new Error('The connection was lost.'));
    this.pending.clear();
    this.leases.disconnected();
    clearTimeout(this.retryTimer);
  }

  private say(state: Connection['state'], text: string, retryInMs = 0): void {
    this.around.post({ kind: 'connection', connection: { state, text, retryInMs } });
  }

  // --- messages

  private send(id: bigint, message: Request): boolean {
    if (this.socket?.readyState !== 1) return false;
    this.socket.send(toBinary(ClientMessageSchema, create(ClientMessageSchema, { requestId: id, message })));
    return true;
  }

  private request(message: Request, timeoutMs = kReplyMs): Promise<Reply> {
    const id = this.nextRequest++;
    return new Promise((resolve, reject) => {
      if (!this.send(id, message)) return reject(new Error('There is no connection to the server.'));
      this.pending.set(id, { resolve, reject, sentAt: this.around.now(), timeoutMs });
    });
  }

  // Calls a method by name and resolves to its response.
  private async ask<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    timeoutMs = kReplyMs,
  ): Promise<MessageShape<O>> {
    const value = {
      method: `${method.parent.typeName}/${method.name}`,
      request: toBinary(method.input, create(method.input, request)),
    };
    const reply = await this.request({ case: 'call', value }, timeoutMs);
    if (reply.case !== 'reply') throw new Error(`The server sent an unexpected reply to ${method.name}.`);
    return fromBinary(method.output, reply.value);
  }

  private hear(data: unknown): void {
    this.heardAt = this.around.now();
    if (!(data instanceof ArrayBuffer)) return this.drop('The server sent text where binary messages were expected.');
    this.bytes += data.byteLength;
    let message: ServerMessage;
    try {
      message = fromBinary(ServerMessageSchema, new Uint8Array(data));
    } catch {
      return this.drop('The server sent a message that this viewer cannot read: viewer and server have different versions.');
    }

    const reply = message.message;
    if (reply.case === 'stream') return this.hearStream(reply.value.message);
    if (reply.case === 'command') return this.hearCommand(reply.value.sequence, reply.value.refused);

    const asked = this.pending.get(message.requestId);
    if (!asked) return;
    this.pending.delete(message.requestId);
    if (reply.case === 'status' && reply.value.code !== 0) {
      asked.reject(new Refusal(reply.value.code, reply.value.message || `The server refused (${reply.value.code}).`));
    } else {
      asked.resolve(reply);
    }
  }

  private hearStream(message: Extract<Reply, { case: 'stream' }>['value']['message']): void {
    if (message.case === 'frame') {
      if (!this.live) return;
      this.stats.framesReceived += 1;
      this.received += 1;
      this.arrivedAt.set(Number(message.value.frame), this.heardAt);
      this.worldEpoch = message.value.epoch;
      if (this.latest.put(message.value)) this.stats.framesSkipped += 1;
      if (this.pageIsReady) this.show();
    } else if (message.case === 'notice' && message.value.final) {
      this.streamEnded(message.value.reason);
    }
  }

  private streamEnded(reason: string): void {
    const socket = this.socket;
    if (!socket) return;
    this.live = false;
    this.leases.disconnected();
    this.say('lost', reason || 'The stream of this world ended.', 500);
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => {
      if (socket === this.socket) void this.introduce(socket);
    }, 500);
  }

  private hearCommand(sequence: bigint, refused: string): void {
    const sent = this.commandsSent.get(Number(sequence));
    if (!sent) return;
    this.smoothRoundTrip(this.heardAt - sent.at, 'command');
    if (refused) this.leases.of(sent.target).refused(refused);
    for (const key of this.commandsSent.keys()) if (key <= Number(sequence)) this.commandsSent.delete(key);
  }

  private subscribe(): void {
    if (!this.live) return;
    this.send(this.nextRequest++, {
      case: 'subscribe',
      value: {
        message: {
          case: 'subscription',
          value: {
            world: this.world,
            rate: 60,
            fields: this.measure ? [this.measure as number] : [],
            contacts: this.contacts,
            tier: this.tier,
          },
        },
      },
    });
  }

  // --- frames: the page has one at a time, later ones are merged

  private show(): void {
    const frame = this.latest.take(this.drawnBodies, this.names, this.pool);
    if (!frame) return;
    this.pageIsReady = false;
    this.shownIn = this.pageEpoch;
    const ofSoft = frame.soft.flatMap((body) => [body.positions.buffer, body.normals.buffer, body.field.buffer]);
    const ofPoints = frame.points.flatMap((body) => [body.positions.buffer, body.field.buffer, body.seen.buffer]);
    this.around.post({ kind: 'frame', frame }, [...ofSoft, ...ofPoints] as ArrayBuffer[]);
  }
  private shownIn = 0;

  private drawn(frame: number, buffers: ArrayBuffer[]): void {
    this.pool.give(buffers);
    if (this.shownIn === this.pageEpoch && this.live) {
      this.lastFrameSeen = frame;
      this.acknowledged += 1;
      this.send(0n, {
        case: 'subscribe',
        value: {

          message: { case: 'ack', value: { frame: BigInt(frame) } },
        },
      });
      const arrived = this.arrivedAt.get(frame);
      if (arrived !== undefined) this.stats.ackLagMs += 0.2 * (this.around.now() - arrived - this.stats.ackLagMs);
      for (const key of this.arrivedAt.keys()) if (key <= frame) this.arrivedAt.delete(key);
    }
    this.pageIsReady = true;
    this.show();
  }

  // --- control

  private command(target: string, leaseId: string, command: Command): void {
    const now = this.around.now();
    this.commandsSent.set(++this.sequence, { target, at: now });
    this.send(this.nextRequest++, {
      case: 'command',
      value: {
        world: this.world,
        leaseId,
        sequence: BigInt(this.sequence),
        clientTime: now / 1000,
        frameSeen: BigInt(this.lastFrameSeen),
        controller: command.kind === 'twist' ? command.controller : '',
        epoch: this.worldEpoch,
        command: commandMessage(command),
      },
    });
  }

  private async call(id: number, call: Call): Promise<void> {
    let error = '';
    try {
      await this.perform(call);
    } catch (problem) {
      error = (problem as Error).message;
    }
    this.around.post({ kind: 'reply', id, error });
  }

  private perform(call: Call): Promise<unknown> {
    const name = this.world;
    const { setClock, stepWorld, resetWorld } = WorldService.method;
    switch (call.op) {
      case 'pause':
        return this.ask(setClock, { name, mode: { case: 'paused', value: {} } });
      case 'run':
        return this.ask(setClock, {
          name,
          mode: Number.isFinite(call.factor)
            ? { case: 'realTime', value: { factor: call.factor } }
            : { case: 'freeRun', value: {} },
        });
      case 'step':
        return this.ask(stepWorld, { name, steps: call.steps });
      case 'reset':
        return this.ask(resetWorld, { name });
      case 'stop':
        return this.ask(ControlService.method.stopWorld, { world: name });
      case 'resume':
        return this.ask(ControlService.method.resumeWorld, { world: name });
    }
  }

  // --- other worlds

  private showWorld(world: string): void {
    if (!this.start) return;
    this.start = { ...this.start, world };
    if (this.live && world === this.world) return;
    // reconnect, so that no frame of the previous world is under way
    this.abandon();
    this.connect();
  }

  private async open(given: Given): Promise<void> {
    if (this.opening) return;
    this.opening = new Opening(
      {
        ask: (method, request) => this.ask(method, request),
        askLong: (method, request) => this.ask(method, request, Infinity),
        show: (opening) => {
          if (opening.state === 'done') this.showWorld(opening.world);
          this.around.post({ kind: 'opening', opening });
        },
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      },
      given,
    );
    await this.opening.run();
    this.opening = null;
  }

  // --- link statistics

  // Monitors the connection even while the world is paused, and measures its round trip.
  private ping(now: number): void {
    this.pingedAt = now;
    for (const [key, { at }] of this.commandsSent) if (now - at > 2 * kPingMs) this.commandsSent.delete(key);
    this.ask(WorldService.method.getWorld, { name: this.world }).then(
      () => {
        if (this.commandsSent.size === 0) this.smoothRoundTrip(this.around.now() - now, 'request');
      },
      (error: Error) => {
        if (error instanceof Refusal && error.code === kNotFound) this.streamEnded('The world was deleted.');
      },
    );
  }

  private smoothRoundTrip(ms: number, of: LinkStats['roundTripOf']): void {
    if (this.stats.roundTripOf !== of) this.stats.roundTripMs = ms;
    this.stats.roundTripOf = of;
    this.stats.roundTripMs += 0.2 * (ms - this.stats.roundTripMs);
  }

  private report(now: number): void {
    const perSecond = 1000 / Math.max(1, now - this.statsAt);
    this.stats.bytesPerSecond = perSecond * this.bytes;
    this.stats.framesPerSecond = perSecond * this.received;
    this.stats.drawnPerSecond = perSecond * this.acknowledged;
    this.bytes = this.received = this.acknowledged = 0;
    this.statsAt = now;
    this.around.post({ kind: 'stats', stats: { ...this.stats } });
  }
}
