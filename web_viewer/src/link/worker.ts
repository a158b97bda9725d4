// The worker. It owns the socket, so that a busy page delays neither decoding nor the repetition of commands.
import type { ToWorker } from './messages';
import { Session } from './session';

const scope = self as unknown as {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

const session = new Session({
  openSocket: (url, protocol) => new WebSocket(url, protocol),
  healthy: async (url) => {
    try {
      await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(3000) });
      return true;
    } catch {
      return false;
    }
  },
  post: (message, transfer = []) => scope.postMessage(message, transfer),
  now: () => performance.now(),
});

scope.onmessage = (event) => session.receive(event.data);
setInterval(() => session.tick(), 15);
