// The viewer: puts link, scene, hands and panel together, and draws.
import './style.css';
import { Driver } from './drive/driver';
import { Hooks } from './hooks';
import { Client } from './link/client';
import { Measure, type Call, type FrameInfo, type MeasureId, type WorldInfo } from './link/messages';
import { ClockBar } from './panel/clock_bar';
import { element, setText } from './panel/dom';
import { Legend } from './panel/legend';
import { Panel } from './panel/panel';
import { StatusView } from './panel/status';
import { Bodies } from './scene/bodies';
import { AutoRange } from './scene/range';
import { Stage } from './scene/stage';

const canvas = element<HTMLCanvasElement>('view');
const options = new URLSearchParams(location.search);
const stage = openStage();
const bodies = new Bodies(stage.software);
stage.scene.add(bodies.root);

let measure: MeasureId = Measure.strain;
let range = new AutoRange(measure);
let selected = '';
let driven = '';
let latest: FrameInfo | null = null;
let lastFrameAt = 0;

const status = new StatusView(() => client.retry());
const client = new Client({
  connection: (connection) => {
    status.show(connection, performance.now());
    if (connection.state !== 'live') driver.letGo();
    bar.enable(connection.state === 'live');
  },
  world: showWorld,
  lease: showLease,
});
const hooks = new Hooks(client, bodies, stage);
const panel = new Panel(select, () => client.takeover(), (speed) => driver.setSpeed(speed));
const legend = new Legend(chooseMeasure, () => (range.locked = !range.locked));
const bar = new ClockBar({
  call,
  showArrows: (on) => {
    bodies.arrows.group.visible = on;
    stage.invalidate();
  },
  resetView: () => stage.resetView(),
});
const driver = new Driver(
  {
    target: () => driven,
    position: (body) => bodies.position(body),
    pick: (ray) => bodies.pick(ray),
    drive: (target, twist) => client.drive(target, twist),
    letGo: () => client.letGo(),
    stop: () => call({ op: 'stop' }),
    selected: select,
    blocked: () => client.connection.state !== 'live' || (latest?.stopped ?? false),
  },
  stage,
  canvas,
);

placeView();
window.addEventListener('resize', placeView);
window.addEventListener('online', () => client.retry());
document.addEventListener('visibilitychange', () => !document.hidden && client.retry());
client.start(measure);
requestAnimationFrame(animate);

function animate(now: number): void {
  requestAnimationFrame(animate);
  const frame = client.takeFrame();
  if (frame) showFrame(frame, now);
  stage.draw(now);
  status.tick(client.connection, now);
  if (client.stats) panel.showStats(client.stats, client.connection.state === 'live');
  panel.tick();
  panel.showPad(driver.gamepads.name, driver.gamepads.warning);
}

function showWorld(world: WorldInfo): void {
  bodies.build(world);
  latest = null;
  hooks.forget();
  setText('scene-name', world.sceneName || world.name);
  document.title = `${world.sceneName || world.name} · Pliant`;
  const kinematic = bodies.kinematic();
  driven = kinematic.includes(driven) ? driven : (kinematic[0] ?? '');
  const names = [...world.soft, ...world.rigid].map(({ name }) => name);
  selected = names.includes(selected) ? selected : driven || (names[0] ?? '');
  range = new AutoRange(measure, stiffest(world));
  legend.showLock(false);
  panel.setBodies(names, selected);
  bodies.select(driven);
  showLease();
  stage.invalidate();
}

function showFrame(frame: FrameInfo, now: number): void {
  const { buffers, fit } = bodies.apply(frame);
  const shown = bodies.soft.filter((body) => body.latest?.measure === measure);
  const low = Math.min(...shown.map((body) => body.latest!.fieldMin));
  const high = Math.max(...shown.map((body) => body.latest!.fieldMax));
  range.update(low, high, Math.min(0.25, (now - lastFrameAt) / 1000));
  lastFrameAt = now;
  bodies.colour(range);
  bodies.showContacts(frame.contacts);
  if (fit) stage.fit(fit);
  stage.invalidate();

  const stoppedBefore = latest?.stopped;
  latest = frame;
  hooks.show(frame);
  panel.showFrame(frame, selected, client.name);
  bar.show(frame);
  element('legend').hidden = bodies.soft.length === 0;
  if (shown.length > 0) legend.show(measure, range.range, { low, high }, shown[0].latest!.unit);
  status.showFault(frame, now);
  if (stoppedBefore !== frame.stopped) showLease();
  client.drawn(frame, buffers);
}

function showLease(): void {
  panel.showLease(client.lease, latest?.stopped ?? false, driven);
}

function select(body: string): void {
  const motion = bodies.motion(body);
  if (!motion) return;
  selected = body;
  if (motion === 'KINEMATIC' && body !== driven) {
    driver.letGo();
    driven = body;
    bodies.select(driven);
    showLease();
  }
  panel.select(body);
  stage.invalidate();
}

function chooseMeasure(choice: MeasureId): void {
  measure = choice;
  range = new AutoRange(measure, client.world ? stiffest(client.world) : 0);
  legend.showLock(false);
  client.setMeasure(measure);
}

function stiffest(world: WorldInfo): number {
  return Math.max(0, ...world.soft.map(({ youngsModulus }) => youngsModulus));
}

function call(what: Call): void {
  if (what.op === 'stop') driver.letGo();
  void client.call(what).then((error) => error && status.say(error, performance.now()));
}

// the view is centred beside the panel on wide pages, and above the bar on narrow ones
function placeView(): void {
  const narrow = window.matchMedia('(max-width: 760px)').matches;
  stage.setCovered(narrow ? 0 : element('panel').offsetWidth, narrow ? 120 : 40);
}

function openStage(): Stage {
  try {
    return new Stage(canvas, Number(options.get('quality')) || 0);
  } catch (error) {
    setText('problem-title', 'No 3D graphics');
    setText('problem-text', 'This browser offers no WebGL 2. Switch hardware acceleration on, or use another browser.');
    element('retry').hidden = true;
    element('problem').hidden = false;
    throw error;
  }
}
