// The page reads without this. It adds a slider through the steps, the choice of what to compare with, and a switch of colors.
(() => {
  'use strict';
  const CONTEXT = 3;
  const root = document.documentElement;
  root.classList.add('scripted');

  const make = (name, className, ...children) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const counted = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

  // What the page is kept in may forbid storage.
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem('rollout-theme', value);
      return localStorage.getItem('rollout-theme');
    } catch {
      return null;
    }
  };

  const theme = document.querySelector('.theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches);
  const showTheme = () => theme.replaceChildren(isDark() ? 'Use light colors' : 'Use dark colors');
  const wanted = remembered();
  if (wanted === 'dark' || wanted === 'light') root.dataset.theme = wanted;
  theme.hidden = false;
  theme.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    remembered(root.dataset.theme);
    showTheme();
  });
  dark.addEventListener('change', showTheme);
  showTheme();

  // Rows of a table: {gap} or {before: [number, text], after: [number, text], equal}.
  const rowsOf = (old, now, runs, isWhole) => {
    const rows = [];
    let before = 0;
    let after = 0;
    const equal = (lines) => {
      for (let line = 0; line < lines; line += 1, before += 1, after += 1) {
        rows.push({ equal: true, before: [before + 1, old[before]], after: [after + 1, now[after]] });
      }
    };
    for (let at = 0; at < runs.length; at += 3) {
      const [same, gone, come] = runs.slice(at, at + 3);
      equal(same);
      for (let line = 0; line < Math.max(gone, come); line += 1) {
        rows.push({
          before: line < gone ? [before + line + 1, old[before + line]] : null,
          after: line < come ? [after + line + 1, now[after + line]] : null,
        });
      }
      before += gone;
      after += come;
    }
    equal(old.length - before);
    return isWhole ? rows : shortened(rows);
  };

  const shortened = (rows) => {
    const near = new Uint8Array(rows.length);
    rows.forEach((row, index) => {
      if (!row.equal) near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
    });
    const kept = [];
    rows.forEach((row, index) => {
      if (near[index]) kept.push(row);
      else if (index > 0 && !near[index - 1]) kept[kept.length - 1].gap += 1;
      else kept.push({ gap: 1 });
    });
    if (kept.length && kept[kept.length - 1].gap) kept.pop();
    return kept;
  };

  const marked = (cell, line, otherLine, name) => {
    // Whole characters, not halves of them.
    const [text, other] = [[...line], [...otherLine]];
    let start = 0;
    while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
    let end = 0;
    while (end < text.length - start && end < other.length - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
    const part = (from, to) => text.slice(from, to).join('');
    const middle = part(start, text.length - end);
    if (!middle || (!part(0, start).trim() && !end)) cell.append(line);
    else cell.append(part(0, start), make(name, '', middle), part(text.length - end));
  };

  const sideOf = (line, other, className, isEqual) => {
    const cell = make('td', isEqual ? '' : line ? className : 'none');
    if (line && (isEqual || !other)) cell.append(line[1]);
    else if (line) marked(cell, line[1], other[1], className);
    return [make('td', '', line ? String(line[0]) : ''), cell];
  };

  const tableOf = (heads, rows) => {
    const head = make('tr', '', ...heads.map((text) => make('th', '', text)));
    head.querySelectorAll('th').forEach((cell) => cell.setAttribute('scope', 'col'));
    const columns = make('colgroup', '', ...heads.map((_, index) => make('col', index % 2 ? '' : 'number')));
    return make('table', heads.length === 2 ? 'diff one' : 'diff', columns, make('thead', '', head), make('tbody', '', ...rows));
  };

  const twoSides = (rows) =>
    tableOf(
      ['Line', 'Before', 'Line', 'After'],
      rows.map((row) => {
        if (row.gap) {
          const cell = make('td', '', counted(row.gap, 'equal line'));
          cell.colSpan = 3;
          return make('tr', 'gap', make('td'), cell);
        }
        return make('tr', '', ...sideOf(row.before, row.after, 'del', row.equal), ...sideOf(row.after, row.before, 'ins', row.equal));
      }),
    );

  const oneSide = (lines, className) =>
    tableOf(['Line', 'Text'], lines.map((line, index) => make('tr', '', make('td', '', String(index + 1)), make('td', className, line))));

  const comparedObject = (object, from, to, isWhole) => {
    const [before, after] = [object.at[from], object.at[to]];
    if (before < 0 && after < 0) return null;
    if (before === after && !isWhole) return null;
    const [old, now] = [object.versions[before], object.versions[after]];
    const [badge, table] =
      before < 0 ? ['added', oneSide(now, 'ins')]
      : after < 0 ? ['removed', oneSide(old, 'del')]
      : before === after ? ['unchanged', oneSide(now, '')]
      : ['changed', twoSides(rowsOf(old, now, object.runs[`${before}.${after}`], isWhole))];
    const summary = make('summary', '', make('span', 'object-name', object.name), ' ', make('span', `badge ${badge}`, badge));
    const details = make('details', 'object', summary, table);
    details.open = badge !== 'unchanged';
    return details;
  };

  const enhance = (article) => {
    const find = (selector) => article.querySelector(selector);
    const panels = [...article.querySelectorAll('.step')];
    const player = find('.player');
    const range = find('.player input[type="range"]');
    const output = find('.player output');
    const [back, forth] = article.querySelectorAll('.player button');
    const whole = find('.player input[type="checkbox"]');
    const baseline = find('.player input[value="baseline"]');
    let data;

    const compare = () => {
      const step = Number(range.value);
      const panel = panels[step - 1];
      const given = panel.querySelector('.given');
      const computed = panel.querySelector('.computed');
      const isComputed = baseline.checked || whole.checked;
      given.hidden = isComputed;
      computed.hidden = !isComputed;
      if (!isComputed) return;
      data ??= JSON.parse(find('script[type="application/json"]').textContent);
      const from = baseline.checked ? 0 : step - 1;
      const objects = data.objects.map((object) => comparedObject(object, from, step, whole.checked)).filter(Boolean);
      const isUnchanged = (object) => Boolean(object.querySelector('.unchanged'));
      const sorted = [...objects.filter((object) => !isUnchanged(object)), ...objects.filter(isUnchanged)];
      computed.replaceChildren(...(sorted.length ? sorted : [make('p', 'nothing', 'Nothing differs.')]));
    };

    const choose = (step, isSaid) => {
      range.value = String(step);
      panels.forEach((panel, index) => {
        panel.hidden = index + 1 !== step;
        if (!panel.hidden) panel.open = true;
      });
      const chosen = panels[step - 1];
      const [name, facts] = [chosen.querySelector('h3').textContent, chosen.querySelector('.facts').textContent];
      output.replaceChildren(make('b', '', name), ` · ${step} of ${panels.length}`);
      range.setAttribute('aria-valuetext', `${name}: ${facts}`);
      back.disabled = step === 1;
      forth.disabled = step === panels.length;
      for (const stop of article.querySelectorAll('.stop')) stop.classList.toggle('current', Number(stop.dataset.stop) === step);
      for (const row of article.querySelectorAll('.steps tr[data-stop]')) {
        if (Number(row.dataset.stop) === step) row.setAttribute('aria-current', 'step');
        else row.removeAttribute('aria-current');
      }
      compare();
      if (isSaid) history.replaceState(null, '', `#${chosen.id}`);
    };

    range.addEventListener('input', () => choose(Number(range.value), true));
    back.addEventListener('click', () => choose(Math.max(1, Number(range.value) - 1), true));
    forth.addEventListener('click', () => choose(Math.min(panels.length, Number(range.value) + 1), true));
    player.addEventListener('change', compare);
    for (const stop of article.querySelectorAll('.stop')) {
      const step = Number(stop.dataset.stop);
      if (step > 0) stop.addEventListener('click', () => choose(step, true));
    }
    player.hidden = false;
    choose(1, false);
    return { panels, choose };
  };

  const releases = [...document.querySelectorAll('.release')].map(enhance);

  // A link to a step chooses it first, so that there is something to go to.
  const follow = () => {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      return;
    }
    for (const { panels, choose } of releases) {
      const index = panels.findIndex((panel) => panel.id === name);
      if (index < 0) continue;
      choose(index + 1, false);
      panels[index].scrollIntoView({ block: 'nearest' });
    }
  };
  addEventListener('hashchange', follow);
  if (location.hash) follow();

  const links = new Map([...document.querySelectorAll('nav a')].map((link) => [link.getAttribute('href').slice(1), link]));
  const seen = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) seen[entry.isIntersecting ? 'add' : 'delete'](entry.target.id);
      let isFirst = true;
      for (const [id, link] of links) {
        if (isFirst && seen.has(id)) {
          link.setAttribute('aria-current', 'true');
          isFirst = false;
        } else {
          link.removeAttribute('aria-current');
        }
      }
    },
    { rootMargin: '-10% 0px -70% 0px' },
  );
  for (const article of document.querySelectorAll('.release')) watch.observe(article);

  // What does not scroll needs no focus.
  const fit = () => {
    for (const box of document.querySelectorAll('.scroll')) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute('tabindex');
    }
  };
  addEventListener('resize', fit);
  fit();

  // Paper cannot be unfolded.
  let folded = [];
  addEventListener('beforeprint', () => {
    folded = [...document.querySelectorAll('details:not([open])')];
    for (const details of folded) details.open = true;
  });
  addEventListener('afterprint', () => {
    for (const details of folded) details.open = false;
    folded = [];
  });
})();
