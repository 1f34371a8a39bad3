import { dirname } from 'node:path';
import { expect, inject, it } from 'vitest';
import type * as Drill from '../../chaos/drill.js';

// The built product: its processes are started from files.
const { runDrill } = (await import(
  new URL('../../dist/chaos/drill.js', import.meta.url).href
)) as typeof Drill;

it('nothing is lost, doubled or left, while everything around the jobs is killed and disturbed', async () => {
  const seed = Date.now() % 2 ** 32;
  const told: string[] = [];
  const env = { ...process.env, PATH: `${dirname(inject('temporalCli'))}:${process.env.PATH}` };
  const report = await runDrill({ seed, jobs: 4, disturbMs: 25_000, env, log: (line) => told.push(line) });
  expect(report.violations, `seed ${seed}\n${told.join('\n')}`).toEqual([]);
  expect(report.completed + report.cancelled).toBe(4);
  expect(report.kills + report.faults + report.signals).toBeGreaterThan(5);
}, 420_000);
