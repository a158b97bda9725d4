// The page's end of the link: starts the worker, keeps its latest messages, and turns calls into promises.
import type { Given, OpeningInfo } from '../files/opening';
import type {
  Call,
  Connection,
  FrameInfo,
  LeaseInfo,
  LinkStats,
  MeasureId,
  Motion,
  Setting,
  ToPage,
  ToWorker,
  WorldInfo,
} from './messages';

const kTokenKey = 'pliant.token';

export interface Listener {
  connection(connection: Connection): void;
  world(world: WorldInfo): void;
  lease(lease: LeaseInfo): void;
  opening(opening: OpeningInfo): void;
  scenes(names: string[]): void;
}

export class Client {
  connection: Connection = { state: 'connecting', text: 'Connecting …', retryInMs: 0 };
  world: WorldInfo | null = null;
  readonly leases = new Map<string, LeaseInfo>(); // by target, a body, a robot, or robot/group
  stats: LinkStats | null = null;
  readonly name: string;
  private waiting: FrameInfo | null = null; // the worker sends the next frame only after this one is drawn
  private readonly worker: Worker;
  private readonly replies = new Map<number, (error: string) => void>();
  private nextCall = 1;
  private listener: Listener | null = null;
  private readonly early: ToPage[] = []; // messages before there is a listener

  constructor() {
    this.name = ownName();
    this.worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    this.worker.onmessage = (event: MessageEvent<ToPage>) => this.receive(event.data);
  }

  start(measure: MeasureId): void {
    const page = new URL(location.href);
    const socket = new URL('/ws', page);
    socket.protocol = page.protocol === 'https:' ? 'wss:' : 'ws:';
    this.post({
      kind: 'start',
      socketUrl: socket.href,
      healthUrl: new URL('/healthz', page).href,
      world: page.searchParams.get('world') ?? '',
      client: this.name,
      token: sessionStorage.getItem(kTokenKey) ?? '',
      measure,
    });
  }

  // Passes the worker's messages to `listener`: those that have arrived, and those to come.
  listen(listener: Listener): void {
    this.listener = listener;
    for (const message of this.early.splice(0)) this.receive(message);
  }

  // Ends the link for good.
  end(): void {
    this.worker.terminate();
  }

  // Connects with this token. It is kept until the tab is closed, and is never part of an address.
  useToken(token: string): void {
    sessionStorage.setItem(kTokenKey, token);
    this.post({ kind: 'token', token });
  }

  takeFrame(): FrameInfo | null {
    const frame = this.waiting;
    this.waiting = null;
    return frame;
  }

  drawn(frame: FrameInfo, free: ArrayBuffer[]): void {
    this.worker.postMessage({ kind: 'drawn', frame: frame.frame, buffers: free } satisfies ToWorker, free);
  }

  // Resolves to an empty string, or to an error message.
  call(call: Call): Promise<string> {
    const id = this.nextCall++;
    return new Promise((resolve) => {
      this.replies.set(id, resolve);
      this.post({ kind: 'call', id, call });
    });
  }

  setMeasure(measure: MeasureId): void {
    this.post({ kind: 'measure', measure });
  }
  lease(target: string): LeaseInfo {
    return this.leases.get(target) ?? { state: 'none', target, text: '' };
  }
  drive(target: string, motion: Motion): void {
    this.post({ kind: 'drive', target, motion });
  }
  letGo(): void {
    this.post({ kind: 'letGo' });
  }
  set(target: string, setting: Setting, fresh: boolean): void {
    this.post({ kind: 'set', target, setting, fresh });
  }
  release(target: string): void {
    this.post({ kind: 'release', target });
  }
  takeover(target: string): void {
    this.post({ kind: 'takeover', target });
  }
  setPriority(priority: number): void {
    this.post({ kind: 'priority', priority });
  }
  // Shows another world; '': the one that the server chooses.
  show(world: string): void {
    this.post({ kind: 'show', world });
  }
  // Creates a world from files or a scene of the server, and shows it.
  open(given: Given): void {
    this.post({ kind: 'open', given });
  }
  cancelOpening(): void {
    this.post({ kind: 'cancelOpening' });
  }
  retry(): void {
    this.post({ kind: 'retry' });
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private receive(message: ToPage): void {
    const { listener } = this;
    if (!listener) return void this.early.push(message);
    switch (message.kind) {
      case 'connection':
        this.connection = message.connection;
        return listener.connection(message.connection);
      case 'world':
        // discard a frame of the previous world
        this.world = message.world;
        if (this.waiting) this.drawn(this.waiting, []);
        this.waiting = null;
        return listener.world(message.world);
      case 'frame':
        this.waiting = message.frame;
        return;
      case 'lease':
        this.leases.set(message.lease.target, message.lease);
        return listener.lease(message.lease);
      case 'stats':
        this.stats = message.stats;
        return;
      case 'opening':
        return listener.opening(message.opening);
      case 'scenes':
        return listener.scenes(message.names);
      case 'reply':
        this.replies.get(message.id)?.(message.error);
        this.replies.delete(message.id);
        return;
    }
  }
}

// Name of this client, the same across reloads of the tab.
function ownName(): string {
  const stored = sessionStorage.getItem('pliant.client');
  if (stored) return stored;
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
  const tail = Array.from(crypto.getRandomValues(new Uint8Array(4)), (x) => letters[x % letters.length]).join('');
  const name = `viewer-${tail}`;
  sessionStorage.setItem('pliant.client', name);
  return name;
}
