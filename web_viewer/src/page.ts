// The page: connects link, scene, input and panels, and draws.
import type { Box3 } from 'three';
import { Driver, type Driven } from './drive/driver';
import { Hooks } from './hooks';
import { Measure, type Call, type FrameInfo, type LeaseInfo, type MeasureId, type WorldInfo } from './link/messages';
import { client, kFirstMeasure } from './link/started';
import { ClockBar } from './panel/clock_bar';
import { element, setText } from './panel/dom';
import { FilesView } from './panel/files';
import { Legend } from './panel/legend';
import { Panel } from './panel/panel';
import { RobotPanel } from './panel/robots';
import { StatusView } from './panel/status';
import { Bodies } from './scene/bodies';
import { PullLine } from './scene/pull_line';
import { AutoRange } from './scene/range';
import { Stage } from './scene/stage';

const canvas = element<HTMLCanvasElement>('view');
const options = new URLSearchParams(location.search);
const stage = openStage();
const bodies = new Bodies(stage.software, () => stage.invalidate());
stage.scene.add(bodies.root);
const pullLine = new PullLine();
stage.scene.add(pullLine.group);

let measure = kFirstMeasure;
let range = new AutoRange(measure);
let selected = '';
let choices: Driven[] = []; // targets that can be driven
let driven: Driven | null = null;
const groups = new Map<string, string>(); // chosen actuator group by robot; none: the whole robot
let pulled = ''; // lease target that the pointer pulls, or pulled last
let latest: FrameInfo | null = null;
let lastFrameAt = 0;

const status = new StatusView(
  () => client.retry(),
  (token) => client.useToken(token),
);
const files = new FilesView({
  open: (given) => client.open(given),
  cancel: () => client.cancelOpening(),
  refusal: () => {
    if (watchesOnly()) return 'Your token has the role viewer. To create worlds, use a token with the role operator.';
    const { state } = client.connection;
    return state === 'live' || state === 'no_world' ? '' : 'There is no connection to the server.';
  },
});
const hooks = new Hooks(client, bodies, stage, () => driven, () => leaseOn(driven?.target ?? ''));
const panel = new Panel(
  select,
  (index) => drive(choices[index]),
  () => client.takeover(leaseShown().target),
  (speed) => driver.setSpeed(speed),
  chooseGroup,
  (priority) => client.setPriority(priority),
);
const robots = new RobotPanel({
  set: (robot, setting, fresh) => client.set(leaseOn(robot), setting, fresh),
  release: (robot) => client.release(leaseOn(robot)),
  takeover: (robot) => client.takeover(leaseOn(robot)),
});
const legend = new Legend(chooseMeasure, () => (range.locked = !range.locked));
const bar = new ClockBar({
  call,
  showArrows: (on) => {
    bodies.arrows.group.visible = on;
    stage.invalidate();
  },
  showSurface: (on) => {
    bodies.showSurface(on);
    stage.invalidate();
  },
  // bodies may be far from where they were when the page was opened
  resetView: () => fitView(bodies.measure()),
});
const driver = new Driver(
  {
    driven: () => driven,
    position: (body) => bodies.position(body),
    pick: (ray) => bodies.pick(ray),
    drive: ({ target, controller }, motion) => {
      if (motion.kind === 'twist') {
        const joints = toolJoints(target, controller);
        if (joints.some((joint) => !mayMove(target, joint))) return;
        robots.dropJoints(target, joints);
      }
      client.drive(leaseOn(target), motion);
    },
    pullable: ({ name }) => canPull(name),
    pull: (pull) => {
      pulled = leaseOn(robotOf(pull.hit.name)) || pull.hit.name;
      client.drive(pulled, pull.motion(robotOf(pull.hit.name)));
    },
    letGo: () => client.letGo(),
    stop: () => call({ op: 'stop' }),
    grip: () => robots.grip(driven?.target ?? ''),
    next: () => drive(choices[(choices.findIndex((choice) => choice === driven) + 1) % choices.length]),
    selected: (hit) => {
      bodies.mark(hit);
      select(hit.name);
    },
    blocked: () => client.connection.state !== 'live' || (latest?.stopped ?? false) || watchesOnly(),
  },
  stage,
  canvas,
);

placeView();
window.addEventListener('resize', placeView);
window.addEventListener('online', () => client.retry());
window.addEventListener('popstate', () => client.show(new URLSearchParams(location.search).get('world') ?? ''));
document.addEventListener('visibilitychange', () => !document.hidden && client.retry());
client.listen({
  connection: (connection) => {
    status.show(connection, performance.now());
    if (connection.state !== 'live') driver.letGo();
    if (connection.state !== 'live') robots.drop();
    bar.enable(connection.state === 'live', client.world?.watchesOnly ?? false);
  },
  world: showWorld,
  lease: (lease) => {
    robots.showLease(lease);
    showLease();
  },
  opening: (opening) => {
    files.show(opening, performance.now());
    if (opening.state !== 'done') return;
    const query = new URLSearchParams(location.search);
    query.set('world', opening.world);
    history.pushState(null, '', `?${query}`);
  },
  scenes: (names) => files.showScenes(names),
});
requestAnimationFrame(animate);

function animate(now: number): void {
  requestAnimationFrame(animate);
  const frame = client.takeFrame();
  if (frame) showFrame(frame, now);
  showPull();
  stage.draw(now);
  status.tick(client.connection, now);
  if (client.stats) panel.showStats(client.stats, client.connection.state === 'live');
  panel.tick();
  robots.tick(latest, now);
  panel.showPad(driver.gamepads.name, driver.gamepads.warning);
}

function showWorld(world: WorldInfo): void {
  bodies.build(world);
  files.showWorld(world.name);
  bar.offerSurface(world.points.length > 0);
  latest = null;
  pulled = '';
  hooks.forget();
  setText('scene-name', world.sceneName || world.name);
  document.title = `${world.sceneName || world.name} · Pliant`;
  choices = findChoices(world);
  const before = driven;
  driven = choices.find((choice) => label(choice) === (before && label(before))) ?? choices[0] ?? null;
  robots.build(world);
  if (world.watchesOnly) for (const { name } of world.robots) robots.setGroup(name, []);
  groups.clear();
  showGroups();
  const names = [...world.soft, ...world.points, ...world.robots, ...world.rigid].map(({ name }) => name);
  selected = names.includes(selected) ? selected : driven?.target || (names[0] ?? '');
  const appearances = world.soft.some(({ appearance }) => appearance) ? [Measure.appearance] : [];
  chooseMeasure(legend.offer([appearances, ...[...world.soft, ...world.points].map(({ fields }) => fields)]));
  panel.setBodies(names, selected);
  panel.setDriven(choices.map(label), choices.findIndex((choice) => choice === driven));
  bodies.markDriven(driven?.body ?? '');
  showLease();
  placeView();
  stage.invalidate();
}

function fitView(box: Box3 | null): void {
  if (box) stage.fit(box, (eye) => bodies.hidden(eye));
}

function showFrame(frame: FrameInfo, now: number): void {
  const { buffers, fit } = bodies.apply(frame);
  const shown = bodies.coloured.filter((body) => body.latest?.measure === measure);
  const low = Math.min(...shown.map((body) => body.latest!.fieldMin));
  const high = Math.max(...shown.map((body) => body.latest!.fieldMax));
  range.update(low, high, Math.min(0.25, (now - lastFrameAt) / 1000));
  lastFrameAt = now;
  bodies.colour(range);
  bodies.showContacts(frame.contacts);
  fitView(fit);
  stage.invalidate();

  const stoppedBefore = latest?.stopped;
  latest = frame;
  hooks.show(frame);
  panel.showFrame(frame, selected, client.name);
  robots.showFrame(frame, client.name, now);
  bar.show(frame);
  showParticle();
  element('legend').hidden = bodies.coloured.length === 0;
  if (shown.length > 0 && measure !== Measure.appearance) legend.show(measure, range.range, { low, high }, shown[0].latest!.unit);
  status.showFault(frame, now);
  if (stoppedBefore !== frame.stopped) showLease();
  client.drawn(frame, buffers);
}

// The lease on the pulled target while it is in use or refused; otherwise that on the driven target.
function leaseShown(): LeaseInfo {
  const lease = client.lease(pulled);
  return pulled && lease.state !== 'none' ? lease : client.lease(leaseOn(driven?.target ?? ''));
}

function showPull(): void {
  const pull = driver.pulled;
  if (pull) pullLine.show(pull.hit.place(), pull.anchor, 0.012 * bodies.extent);
  if (!pull && pullLine.group.visible) pullLine.hide();
  else if (!pull) return;
  stage.invalidate();
}

function robotOf(body: string): string {
  return client.world?.rigid.find(({ name }) => name === body)?.robot ?? '';
}

// True if a spring can move a body: a free or soft body, or a link.
function canPull(body: string): boolean {
  const motion = bodies.motion(body);
  return motion === 'SOFT' || motion === 'FREE' || robotOf(body) !== '';
}

// Lease target of a robot: the group that the user chose, or the whole robot.
function leaseOn(target: string): string {
  const group = groups.get(target);
  return group ? `${target}/${group}` : target;
}

// Joints of the chosen group; null: all may be moved.
function groupJoints(robot: string): string[] | null {
  const all = client.world?.robots.find(({ name }) => name === robot)?.groups ?? [];
  return all.find(({ name }) => name === groups.get(robot))?.joints ?? null;
}

function mayMove(robot: string, joint: string): boolean {
  return groupJoints(robot)?.includes(joint) ?? true;
}

function chooseGroup(group: string): void {
  const robot = driven?.target ?? '';
  driver.letGo();
  client.release(leaseOn(robot));
  groups.set(robot, group);
  robots.setGroup(robot, groupJoints(robot));
  showLease();
}

function showGroups(): void {
  const robot = client.world?.robots.find(({ name }) => name === driven?.target);
  panel.setGroups(watchesOnly() ? [] : (robot?.groups.map(({ name }) => name) ?? []), groups.get(robot?.name ?? '') ?? '');
}

function watchesOnly(): boolean {
  return client.world?.watchesOnly ?? false;
}

function showLease(): void {
  const lease = leaseShown();
  const robot = client.world?.robots.find(({ name }) => name === driven?.target);
  const what = pulled && lease.target === pulled ? pulled : driven ? label(driven) : '';
  if (watchesOnly()) return panel.showWatching();
  panel.showLease(lease, latest?.stopped ?? false, {
    what,
    grip: (robot?.grippers.length ?? 0) > 0,
    sliders: client.world?.robots.some(({ joints }) => joints.some(({ drive }) => drive !== 'none')) ?? false,
    pull: [...bodies.rigid, ...bodies.coloured].some(({ info }) => canPull(info.name)),
  });
}

// Selects the body whose contact force is shown, and drives it or its robot if that is possible.
function select(body: string): void {
  if (!bodies.motion(body) && !client.world?.robots.some(({ name }) => name === body)) return;
  selected = body;
  const robot = client.world?.rigid.find(({ name }) => name === body)?.robot || body;
  if (driven?.target !== robot) drive(choices.find(({ target }) => target === robot));
  panel.select(body);
  if (bodies.particle?.body !== body) bodies.mark(null);
  showParticle();
  stage.invalidate();
}

function drive(choice: Driven | undefined): void {
  if (!choice || choice === driven) return;
  driver.letGo();
  driven = choice;
  panel.setDriven(choices.map(label), choices.indexOf(choice));
  bodies.markDriven(choice.body);
  showGroups();
  showLease();
  stage.invalidate();
}

// Returns the targets that can be driven: kinematic bodies, then tools of robots.
function findChoices(world: WorldInfo): Driven[] {
  const moved = world.rigid
    .filter(({ motion }) => motion === 'KINEMATIC')
    .map(({ name }) => ({ target: name, controller: '', body: name, grasp: new Set([name]), gamepad: false }));
  const tools = world.robots.flatMap(({ name: target, tools, hasGamepad: gamepad }) =>
    tools.map(({ name, body, carried }) => ({ target, controller: name, body, grasp: new Set(carried), gamepad })),
  );
  return [...moved, ...tools];
}

function label({ target, controller }: Driven): string {
  return controller ? `${target} · ${controller}` : target;
}

function toolJoints(robot: string, controller: string): string[] {
  const tools = client.world?.robots.find(({ name }) => name === robot)?.tools ?? [];
  return tools.find(({ name }) => name === controller)?.joints ?? [];
}

function chooseMeasure(choice: MeasureId): void {
  if (choice !== measure) client.setMeasure(choice);
  measure = choice;
  bodies.showFields(measure !== Measure.appearance);
  legend.showScale(measure !== Measure.appearance);
  stage.invalidate();
  range = new AutoRange(measure, client.world ? stiffest(client.world) : 0);
  legend.showLock(false);
}

function showParticle(): void {
  panel.showParticle(bodies.particle);
}

function stiffest(world: WorldInfo): number {
  return Math.max(0, ...[...world.soft, ...world.points].map(({ youngsModulus }) => youngsModulus));
}

function call(what: Call): void {
  if (what.op === 'stop') driver.letGo();
  void client.call(what).then((error) => error && status.say(error, performance.now()));
}

// Centres the view beside the panels on wide pages, and above the bar on narrow ones.
function placeView(): void {
  const narrow = window.matchMedia('(max-width: 760px)').matches;
  const shown = element('robots');
  const home = narrow ? element('panel-body') : document.body;
  if (shown.parentElement !== home) home.append(shown);
  shown.classList.toggle('above-legend', bodies.coloured.length > 0);
  const left = narrow || shown.hidden ? 0 : shown.offsetWidth;
  stage.setCovered(left, narrow ? 0 : element('panel').offsetWidth, narrow ? 120 : 40);
}

function openStage(): Stage {
  try {
    return new Stage(canvas, Number(options.get('quality')) || 0);
  } catch (error) {
    client.end();
    setText('problem-title', 'No 3D graphics');
    setText('problem-text', 'This browser does not support WebGL 2. Turn on hardware acceleration, or use another browser.');
    element('retry').hidden = true;
    element('problem').hidden = false;
    throw error;
  }
}
