// The page over https, with a server that requires a token.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { kBinary, launchBrowser, Server, until } from './harness.mjs';

const kTest = { timeout: 300000 };
const folder = mkdtempSync(join(tmpdir(), 'pliant-secure-'));
const [cert, key, tokens] = ['cert.pem', 'key.pem', 'tokens.yaml'].map((name) => join(folder, name));

let server;
let browser;
let page;
let token;
let viewerToken;

before(async () => {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, '-days', '1', ...subject], {
    stdio: 'ignore',
  });
  const who = ['--name', 'alice', '--role', 'operator', '--tokens', tokens];
  token = execFileSync(kBinary, ['token', ...who], { encoding: 'utf8' }).trim();
  const viewer = ['--name', 'bob', '--role', 'viewer', '--tokens', tokens];
  viewerToken = execFileSync(kBinary, ['token', ...viewer], { encoding: 'utf8' }).trim();
  const flags = ['--tls-cert', cert, '--tls-key', key, '--tokens', tokens];
  server = await Server.start(0, join('scenes', 'soft_ball.yaml'), flags);
  browser = await launchBrowser();
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  page = await context.newPage();
  page.setDefaultTimeout(90000);
  await page.goto(server.url);
});

after(async () => {
  await browser?.close();
  const status = await server?.stop();
  rmSync(folder, { recursive: true });
  assert.equal(status, 0, server?.log);
});

test('the page asks for a token, says that one is wrong, and goes live with the right one', kTest, async () => {
  assert.match(server.url, /^https:/);
  await until(page, 'the page asks', () => pliant.connection.state === 'no_token');
  await page.waitForSelector('#token', { state: 'visible' });
  await page.fill('#token', 'pliant_wrong');
  await page.keyboard.press('Enter');
  await until(page, 'the page says that it is wrong', () =>
    /refused the token/.test(document.getElementById('problem-text').textContent),
  );
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await until(page, 'frames come', () => pliant.connection.state === 'live' && pliant.framesDrawn > 0);
  await page.waitForSelector('#token', { state: 'hidden' });
});

test('the token is kept while the tab is open, and never in the address', kTest, async () => {
  await page.reload();
  await until(page, 'frames come again', () => pliant.connection.state === 'live' && pliant.framesDrawn > 0);
  assert.ok(!page.url().includes(token));
  assert.ok(!server.log.includes(token));
});

test('a viewer sees its role, and can press nothing but stop', kTest, async () => {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const watcher = await context.newPage();
  watcher.setDefaultTimeout(90000);
  await watcher.goto(server.url);
  await watcher.waitForSelector('#token', { state: 'visible' });
  await watcher.fill('#token', viewerToken);
  await watcher.keyboard.press('Enter');
  await until(watcher, 'frames come', () => pliant.connection.state === 'live' && pliant.framesDrawn > 0);
  assert.equal(await watcher.textContent('#lease'), 'watching');
  assert.match(await watcher.textContent('#lease-text'), /role viewer/);
  for (const id of ['run', 'step', 'reset', 'factor']) assert.ok(await watcher.isDisabled(`#${id}`), id);
  assert.ok(await watcher.isEnabled('#stop'));
  await watcher.click('#stop');
  await until(watcher, 'the world is stopped', () => pliant.frame.stopped);
  assert.ok(await watcher.isDisabled('#stop'), 'a viewer does not resume');
  await page.click('#stop');
  await until(watcher, 'the operator has resumed it', () => !pliant.frame.stopped);
  assert.ok(await watcher.isEnabled('#stop'));
  await context.close();
});
