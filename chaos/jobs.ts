/** Jobs whose work can be counted: each unit leaves a durable mark before it is published. */

import type { JobSpecSource } from '../contract/job-spec.schema.js';

/**
 * Goes on from its marks after a restart. A unit is one line; the line is on disk before the checkpoint shows it,
 * so no acknowledged unit can be lost and none is done twice.
 */
const AGENT = `
import { existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const units = Number(process.env.UNITS), unitMs = Number(process.env.UNIT_MS);
const lines = () => existsSync('/workspace/marks') ? readFileSync('/workspace/marks', 'utf8').split('\\n').filter(Boolean) : [];
let done = lines().length;
const file = openSync('/workspace/marks', 'a');
function publish(state) {
  writeFileSync('/workspace/state.tmp', JSON.stringify(state));
  renameSync('/workspace/state.tmp', '/workspace/state.json');
}
function work() {
  if (done >= units) {
    const marks = lines();
    return publish({ status: 'done', step: done, progress: 1, result: { marks: marks.length, different: new Set(marks).size } });
  }
  writeFileSync(file, 'unit ' + done + '\\n');
  fsyncSync(file);
  done += 1;
  publish({ status: 'running', step: done, progress: done / units });
  setTimeout(work, unitMs);
}
publish({ status: 'running', step: done, progress: done / units });
createServer((request, response) => {
  if (request.method === 'POST') return void response.end('{}');
  try { response.end(readFileSync('/workspace/state.json')); } catch { response.writeHead(503).end(); }
}).listen(8000);
work();
`;

export function chaosJob(units: number, unitMs: number): JobSpecSource {
  return {
    sandbox: {
      image: 'node:20-slim',
      entrypoint: ['node', '/workspace/agent.mjs'],
      env: { UNITS: `${units}`, UNIT_MS: `${unitMs}` },
      files: [{ path: '/workspace/agent.mjs', content: AGENT }],
      resources: { cpu: '500m', memory: '256Mi' },
    },
    checkpoint: { every: '500ms', stallAfter: '2m' },
    drain: { path: '/drain', timeout: '3s' },
  };
}
