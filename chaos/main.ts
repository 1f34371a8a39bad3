/** `npm run chaos -- [--seed N] [--jobs N] [--minutes M] [--json FILE]`: exit code 1 with any violation. */

import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { runDrill } from './drill.js';

function number(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!Number.isFinite(value) || value < min || value > max)
      throw new InvalidArgumentError(`Write a number from ${min} to ${max}.`);
    return value;
  };
}

const { seed, jobs, minutes, json, quiet } = new Command('chaos')
  .description('runs jobs while everything around them is killed and disturbed, and checks that all adds up')
  .option('--seed <n>', 'repeats the choices of an earlier run', number(0, 2 ** 32 - 1), Date.now() % 2 ** 32)
  .option('--jobs <n>', 'how many at once', number(1, 500), 10)
  .option('--minutes <m>', 'how long things go wrong', number(0.1, 600), 5)
  .option('--json <file>', 'write the report there')
  .option('--quiet', 'do not tell each disturbance')
  .parse()
  .opts<{ seed: number; jobs: number; minutes: number; json?: string; quiet?: boolean }>();

const startMs = Date.now();
const log = (line: string) => {
  if (!quiet) console.log(`${((Date.now() - startMs) / 1000).toFixed(1).padStart(7)} s  ${line}`);
};
console.log(`seed ${seed}, ${jobs} jobs, ${minutes} min`);
const report = await runDrill({ seed, jobs, disturbMs: minutes * 60_000, env: process.env, log });
if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
const { kills, faults, signals, completed, cancelled, violations } = report;
console.log(
  `${kills} kills, ${faults} faults, ${signals} signals: ${completed} completed, ${cancelled} cancelled, ${violations.length} violations`,
);
for (const violation of violations) console.log(`  ${violation}`);
if (violations.length > 0)
  console.log(`Again: npm run chaos -- --seed ${seed} --jobs ${jobs} --minutes ${minutes}`);
process.exitCode = violations.length > 0 ? 1 : 0;
