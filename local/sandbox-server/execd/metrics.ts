/** `/metrics`: of the machine, as execd sees it from inside a container, too. */

import type { ServerResponse } from 'node:http';
import { cpus, freemem, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { json } from './answers.js';
import { EVENT_HEADERS } from './events.js';

const MIB = 2 ** 20;
/** Over which use of the processors is measured. */
const SAMPLE_MS = 1000;

export async function getMetrics(response: ServerResponse): Promise<void> {
  json(response, 200, await readMetrics());
}

/** A line of JSON from time to time, until the client goes away. */
export async function watchMetrics(response: ServerResponse): Promise<void> {
  response.writeHead(200, EVENT_HEADERS);
  response.flushHeaders();
  while (!response.destroyed) {
    const metrics = await readMetrics();
    // One who does not read gets no more than fits.
    if (!response.writableNeedDrain) response.write(`${JSON.stringify(metrics)}\n`);
  }
}

async function readMetrics(): Promise<object> {
  const before = processorTimes();
  await sleep(SAMPLE_MS);
  const after = processorTimes();
  const totalMs = after.totalMs - before.totalMs;
  return {
    cpu_count: cpus().length,
    cpu_used_pct: totalMs <= 0 ? 0 : 100 * (1 - (after.idleMs - before.idleMs) / totalMs),
    mem_total_mib: totalmem() / MIB,
    mem_used_mib: (totalmem() - freemem()) / MIB,
    timestamp: Date.now(),
  };
}

function processorTimes(): { readonly idleMs: number; readonly totalMs: number } {
  const times = cpus().map((each) => each.times);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return {
    idleMs: sum(times.map(({ idle }) => idle)),
    totalMs: sum(times.flatMap((each) => Object.values(each))),
  };
}
