/**
 * A small agent with work that can be counted: each unit leaves a line in a file, made durable before it counts.
 * Env: UNITS, UNIT_MS.
 */

import {
  appendFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';

const units = Number(process.env.UNITS ?? 20);
const unitMs = Number(process.env.UNIT_MS ?? 100);
const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);

appendFileSync('/workspace/starts', `${Date.now()}\n`);
let done = read('/workspace/marks').length;

function publish(state) {
  writeFileSync(
    '/workspace/state.json.tmp',
    JSON.stringify({ updatedAt: new Date().toISOString(), ...state }),
  );
  renameSync('/workspace/state.json.tmp', '/workspace/state.json');
}

function work() {
  if (done >= units) {
    const result = { marks: read('/workspace/marks').length, starts: read('/workspace/starts').length };
    return publish({ status: 'done', step: done, progress: 1, result });
  }
  const file = openSync('/workspace/marks', 'a');
  writeFileSync(file, `unit ${done}\n`);
  fsyncSync(file);
  done += 1;
  publish({ status: 'running', step: done, progress: done / units, message: `unit ${done} of ${units}` });
  setTimeout(work, unitMs);
}

publish({ status: 'running', step: done, progress: done / units, message: 'starting' });
createServer((_, response) => response.end(readFileSync('/workspace/state.json'))).listen(8000);
console.log(`agent starts at unit ${done}`);
work();
