// Repositories to render: a large one, and one whose every text is an attack.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Texts that must be shown and do nothing. */
export const ATTACKS = [
  '<script>window.injected = 1</script>',
  '</script><script>window.injected = 2</script>',
  '<img src="https://evil.example/x.png" onerror="window.injected = 3">',
  '"><svg onload="window.injected = 4">',
  "'; window.injected = 5; //",
  '<!-- <script>',
  '</style><style>* { background: url(https://evil.example/y) }</style>',
  '&lt;b&gt; &amp; {{7*7}} ${7*7}',
  '\u2028\u2029\u202eabc\u0007',
  'javascript:window.injected=6',
];

const quoted = (text) => JSON.stringify(text).replace(/[\u007f-\ud7ff\ue000-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The files of a Rollout with its Deployment, Service and HTTPRoute. */
export function rollout({ name, namespace, image, steps, notes = [], replicas = 10 }) {
  const annotations = notes.map((text, index) => `        note-${index}: ${quoted(text)}`);
  const rows = steps.map(({ weight, share, header }) =>
    [
      `      - replicas: ${share}%`,
      ...(weight === undefined ? [] : [`        traffic: ${weight}%`]),
      ...(header === undefined ? [] : ['        matches:', `        - headers: [{name: x-canary, value: ${quoted(header)}}]`]),
      '        pause: {}',
    ].join('\n'),
  );
  const head = (apiVersion, kind) => `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec:\n`;
  const pod = ['    metadata:', `      labels: {app: ${name}}`, ...(annotations.length ? ['      annotations:', ...annotations] : [])];
  const variables = Array.from({ length: 20 }, (_, index) => `        - {name: SETTING_${index}, value: "${index}"}`);
  return {
    'deployment.yaml':
      `${head('apps/v1', 'Deployment')}  replicas: ${replicas}\n  selector: {matchLabels: {app: ${name}}}\n  template:\n${pod.join('\n')}\n` +
      `    spec:\n      containers:\n      - name: main\n        image: ${quoted(image)}\n        env:\n${variables.join('\n')}\n`,
    'service.yaml': `${head('v1', 'Service')}  selector: {app: ${name}}\n  ports: [{name: http, port: 80}]\n`,
    'route.yaml':
      `${head('gateway.networking.k8s.io/v1', 'HTTPRoute')}  parentRefs: [{name: public, namespace: gateways}]\n` +
      `  hostnames: [${name}.example.com]\n  rules:\n  - matches: [{path: {type: PathPrefix, value: /}}]\n    backendRefs: [{name: ${name}, port: 80}]\n`,
    'rollout.yaml':
      `${head('rollouts.kruise.io/v1beta1', 'Rollout')}  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: ${name}}\n` +
      `  strategy:\n    canary:\n      enableExtraWorkloadForCanary: true\n      steps:\n${rows.join('\n')}\n` +
      `      trafficRoutings:\n      - service: ${name}\n        gateway: {httpRouteName: ${name}}\n`,
  };
}

/** Writes files by their paths. */
export async function write(folder, files) {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** Twenty Rollouts of ten steps, in `before` and `after`. */
export async function large(folder) {
  const steps = Array.from({ length: 10 }, (_, index) => ({ weight: (index + 1) * 10, share: (index + 1) * 10 }));
  for (const side of ['before', 'after']) {
    for (let number = 0; number < 20; number += 1) {
      const files = rollout({ name: `shop-${number}`, namespace: 'prod', image: `example.com/shop:${side}`, steps });
      await write(join(folder, side, `shop-${number}`), files);
    }
  }
}

/** Two environments with Rollouts of one name, in which every text that a user can choose is an attack. */
export async function hostile(folder) {
  const steps = [
    { weight: 20, share: 20 },
    ...ATTACKS.slice(0, 8).map((header) => ({ header, share: 50 })),
    { share: 60 },
    { weight: 100, share: 100 },
  ];
  for (const side of ['before', 'after']) {
    for (const place of ['eu', 'us']) {
      const notes = [...ATTACKS, side === 'before' ? 'face 🙂 of two halves' : 'face 🙃 of two halves'].map((text) => `${side} ${text}`);
      const files = rollout({ name: 'shop', namespace: 'prod', image: `${side}/${ATTACKS[2]}`, steps, notes });
      await write(join(folder, side, place), files);
    }
    const environments = ['eu', 'us'].map((place) => `- {name: ${place}, path: ${place}, output: rollouts/${place}}`);
    await write(join(folder, side), { '.rollout.yaml': `environments:\n${environments.join('\n')}\n` });
    // Findings quote what is wrong.
    const broken = rollout({ name: 'broken', namespace: 'prod', image: 'a:1', steps: [{ weight: 20, share: 20 }] });
    broken['rollout.yaml'] = broken['rollout.yaml'].replace('canary:\n', `canary:\n      ${quoted(ATTACKS[0])}: ${quoted(ATTACKS[3])}\n`);
    await write(join(folder, side, 'eu', '<img src=x onerror=alert(1)>'), broken);
  }
}
