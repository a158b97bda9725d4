// Messages about problems: the state of the connection, faults of the world, failed calls.
import type { Connection, FrameInfo } from '../link/messages';
import { element, setHidden, setText } from './dom';

const kTitles: Record<Connection['state'], string> = {
  connecting: 'Connecting …',
  live: 'Connected',
  lost: 'No connection',
  no_world: 'No world',
  no_token: 'A token is needed',
};

export class StatusView {
  private until = 0; // end of the banner message
  private retryAt = 0;
  private everLive = false;
  private wentAway = 0;

  constructor(onRetry: () => void, onToken: (token: string) => void) {
    element('retry').addEventListener('click', onRetry);
    element('token-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const field = element<HTMLInputElement>('token');
      const token = field.value.trim();
      field.value = '';
      if (token) onToken(token);
    });
  }

  show(connection: Connection, now: number): void {
    const { state, text, retryInMs } = connection;
    const pill = element('connection');
    pill.dataset.state = state;
    pill.querySelector('b')!.textContent = kTitles[state];
    this.retryAt = retryInMs > 0 ? now + retryInMs : 0;
    if (state === 'live') {
      this.everLive = true;
      this.wentAway = 0;
      return setHidden('problem', true);
    }
    if (!this.wentAway) this.wentAway = now;
    if (state !== 'connecting') setText('problem-text', text);
    setText('problem-title', state === 'connecting' ? element('problem-title').textContent || kTitles[state] : kTitles[state]);
    setHidden('retry', state !== 'lost');
    setHidden('first-world', state !== 'no_world');
    const asks = state === 'no_token';
    const asked = !element('token-form').hidden;
    setHidden('token-form', !asks);
    if (asks && !asked) element('token').focus();
  }

  // Call every animation frame.
  tick(connection: Connection, now: number): void {
    // do not cover a running view for a short interruption
    const patience = this.everLive ? 700 : 250;
    if (this.wentAway && now - this.wentAway > patience) setHidden('problem', false);
    if (connection.state === 'lost') {
      const seconds = Math.ceil(Math.max(0, this.retryAt - now) / 1000);
      setText('retry', seconds > 0 ? `Retry now (next attempt in ${seconds} s)` : 'Retrying …');
    }
    if (this.until && now > this.until) {
      this.until = 0;
      setHidden('banner', true);
    }
  }

  showFault(frame: FrameInfo, now: number): void {
    if (!frame.fault) return;
    const { step, reason, body } = frame.fault;
    this.say(`The world was paused by a fault at step ${step}: ${reason}${body ? ` (${body})` : ''}. Reset it to continue.`, now);
  }

  say(text: string, now: number): void {
    setText('banner', text);
    setHidden('banner', false);
    this.until = now + 6000;
  }
}
