// A headless Chromium, spoken to over a pipe: no port is opened, and nothing is left behind when it is closed.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Long for a busy machine; nothing waits this long where all is well.
const PATIENCE = 60_000;

/** Starts a browser. */
export async function start() {
  const profile = await mkdtemp(join(tmpdir(), 'rollout-browser-'));
  const options = [
    '--headless=new', '--remote-debugging-pipe', `--user-data-dir=${profile}`, '--no-first-run', '--no-default-browser-check',
    '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update',
    '--disable-extensions', '--disable-sync', '--hide-scrollbars', '--host-resolver-rules=MAP * ~NOTFOUND', 'about:blank',
  ];
  const child = spawn(process.env.CHROMIUM, options, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const [input, output] = [child.stdio[3], child.stdio[4]];
  input.on('error', () => {});
  const waiting = new Map();
  const listeners = new Set();
  let next = 0;
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (text) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const answer = waiting.get(message.id);
      if (answer) {
        waiting.delete(message.id);
        answer(message);
      } else {
        for (const listener of listeners) listener(message);
      }
    }
  });

  const send = (method, params = {}, sessionId) =>
    new Promise((resolve, reject) => {
      const id = (next += 1);
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), PATIENCE);
      waiting.set(id, ({ result, error }) => {
        clearTimeout(timer);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result);
      });
      input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });

  return {
    open: (url, options) => open({ send, listeners }, url, options),
    async close() {
      await Promise.race([send('Browser.close').catch(() => {}), ended]);
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5_000))]);
      // Helpers of the browser are in its process group.
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // All are gone.
      }
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Opens a page in a tab of its own; `heard` gathers what should not have happened. */
async function open({ send, listeners }, url, { width = 1280, height = 900, media = {}, isScripted = true } = {}) {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  const heard = [];
  let loaded;
  const loading = async (method, params) => {
    const isLoaded = new Promise((resolve) => (loaded = resolve));
    await call(method, params);
    await within(isLoaded, `${url} does not load`);
  };
  const listener = ({ method, params, sessionId: session }) => {
    if (session !== sessionId) return;
    if (method === 'Runtime.exceptionThrown') heard.push(`exception: ${params.exceptionDetails.exception?.description}`);
    if (method === 'Runtime.consoleAPICalled') heard.push(`console: ${JSON.stringify(params.args)}`);
    if (method === 'Log.entryAdded') heard.push(`log: ${params.entry.text}`);
    if (method === 'Audits.issueAdded') heard.push(`issue: ${JSON.stringify(params.issue)}`);
    if (method === 'Page.javascriptDialogOpening') heard.push(`dialog: ${params.message}`);
    if (method === 'Network.requestWillBeSent' && params.request.url !== url) heard.push(`request: ${params.request.url}`);
    if (method === 'Page.loadEventFired') loaded?.();
  };
  listeners.add(listener);
  for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'Audits', 'Accessibility', 'DOM']) await call(`${domain}.enable`);
  await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  await call('Emulation.setScriptExecutionDisabled', { value: !isScripted });
  // Motion would move what is about to be clicked.
  const usual = { 'prefers-color-scheme': 'light', 'prefers-reduced-motion': 'reduce' };
  const emulate = ({ type = '', ...features }) => {
    const all = Object.entries({ ...usual, ...features }).map(([name, value]) => ({ name, value }));
    return call('Emulation.setEmulatedMedia', { media: type, features: all });
  };
  await emulate(media);
  await loading('Page.navigate', { url });

  /** What the function returns in the page. */
  const evaluate = async (work, ...values) => {
    const expression = `(${work})(...${JSON.stringify(values)})`;
    const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  // Two frames: whatever the page does about an event is done.
  const settled = () => evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))));
  const until = async (condition, ...values) => {
    for (const start = Date.now(); !(await evaluate(condition, ...values)); await settled()) {
      if (Date.now() - start > PATIENCE) throw new Error(`never true: ${condition}`);
    }
  };
  const click = async (selector, index = 0) => {
    const place = await evaluate((selector, index) => {
      const element = document.querySelectorAll(selector)[index];
      element.scrollIntoView({ block: 'center', behavior: 'instant' });
      const box = element.getBoundingClientRect();
      const [x, y] = [box.x + Math.min(box.width / 2, 300), box.y + box.height / 2];
      const top = document.elementFromPoint(x, y);
      return { x, y, isOnTop: element.contains(top) || top?.contains(element) };
    }, selector, index);
    if (!place.isOnTop) throw new Error(`something covers ${selector}`);
    for (const type of ['mousePressed', 'mouseReleased']) {
      await call('Input.dispatchMouseEvent', { type, x: place.x, y: place.y, button: 'left', clickCount: 1 });
    }
  };
  const KEYS = { ArrowRight: 39, ArrowLeft: 37, ArrowUp: 38, ArrowDown: 40, Home: 36, End: 35, Tab: 9, Space: 32 };
  const press = async (key) => {
    const event = { key: key === 'Space' ? ' ' : key, code: key, windowsVirtualKeyCode: KEYS[key], ...(key === 'Space' && { text: ' ' }) };
    await call('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await call('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  };
  const screenshot = async (isWhole = false) => {
    const { data } = await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: isWhole });
    return Buffer.from(data, 'base64');
  };
  const close = async () => {
    listeners.delete(listener);
    await send('Target.closeTarget', { targetId });
  };
  const reload = () => loading('Page.reload');
  return { call, heard, evaluate, settled, until, click, press, emulate, screenshot, reload, close };
}

/** The promise, or an error when it takes too long. */
async function within(promise, message) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(message)), PATIENCE)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
