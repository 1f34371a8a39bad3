/** What was found and measured, as tables for people. */

import colors from 'picocolors';
import type { Capability } from './check.js';
import { type Measurement, STEPS, type Step } from './measure-deployment.js';

const VERDICTS = { ok: colors.green('ok  '), warn: colors.yellow('warn'), fail: colors.red('FAIL') };
const EVIDENCE_MAX_CHARS = 110;
const STEP_NAMES: Record<Step, string> = {
  create: 'create, answered',
  createToReady: 'create → first answer of the agent',
  pause: 'pause → Paused',
  resumeToReady: 'resume → first answer of the agent',
  delete: 'delete, answered',
};

export function capabilityLine({ verdict, capability, found, evidence }: Capability): string {
  const shown =
    evidence.length > EVIDENCE_MAX_CHARS ? `${evidence.slice(0, EVIDENCE_MAX_CHARS - 1)}…` : evidence;
  return `${VERDICTS[verdict]}  ${capability.padEnd(20)} ${found.padEnd(20)} ${colors.dim(shown)}`;
}

/** What is missing, as sentences, and what that means. */
export function verdictLines(capabilities: readonly Capability[]): string[] {
  const failed = capabilities.filter(({ verdict }) => verdict === 'fail');
  const warned = capabilities.filter(({ verdict }) => verdict === 'warn');
  const lines = failed.map(({ sentence, evidence }) =>
    colors.red(`Needed, and not so: ${sentence}. ${evidence}`),
  );
  const summary =
    failed.length > 0
      ? `Jobs cannot run on this deployment: ${failed.length} of ${capabilities.length} capabilities are missing.`
      : `Jobs can run on this deployment${warned.length === 0 ? '.' : `; ${warned.length} capabilities are limited.`}`;
  return [...lines, summary];
}

export function measurementLines(measurement: Measurement): string[] {
  const head = `${'ms'.padEnd(38)}${['p50', 'p95', 'max'].map((name) => name.padStart(9)).join('')}`;
  const rows = STEPS.map((step) => {
    const { p50, p95, max } = measurement[step];
    const cells = [p50, p95, max].map((ms) => ms.toFixed(ms < 10 ? 1 : 0).padStart(9)).join('');
    return `${STEP_NAMES[step].padEnd(38)}${cells}`;
  });
  return [head, ...rows];
}
