/** Does to a request, and to what it sets going, what the rules say. */

import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Trouble } from '../lifecycle.js';
import type { Sandboxes } from '../sandboxes.js';
import type { Reader } from '../views.js';
import { answerFault, cutAnswer, dropAnswer, refuseUpgradeByFault, replaceAnswer } from './answers.js';
import type { Call, Faults } from './faults.js';
import { skewedReader, staleReader } from './readers.js';
import type { Fault, FaultOf } from './rule.js';

/** What the handler of a request is to use instead of the truth. */
export interface Disturbed {
  readonly reader: Reader;
  readonly trouble: Trouble;
}

/**
 * @param reader of the truth.
 * @param handle does the work of the request; not called when a fault comes first.
 */
export async function withFaults(
  { faults, sandboxes, reader }: { faults: Faults; sandboxes: Sandboxes; reader: Reader },
  call: Call,
  response: ServerResponse,
  handle: (disturbed: Disturbed) => Promise<void>,
): Promise<void> {
  const struck = faults.strike(call);
  const of = <Kind extends Fault['kind']>(kind: Kind) =>
    struck.flatMap(({ fault }) => (fault.kind === kind ? [fault as FaultOf<Kind>] : []));
  const shifts = (kind: 'stale' | 'clock-skew') =>
    struck.flatMap(({ fault, match }) => (fault.kind === kind ? [{ ms: fault.ms, match }] : []));

  for (const { ms } of of('latency')) await sleep(ms, undefined, { ref: false });
  const skews = shifts('clock-skew');
  const skewMs = skews[0]?.ms;
  if (skewMs !== undefined) response.setHeader('date', new Date(Date.now() + skewMs).toUTCString());
  const [refusal] = of('status').filter(({ when }) => when === 'before');
  if (refusal !== undefined) return answerFault(response, refusal);
  if (of('drop').some(({ when }) => when === 'before')) {
    response.destroy();
    return;
  }
  await strikeSandbox(sandboxes, call, struck);

  const [cut] = of('truncate');
  if (cut !== undefined) cutAnswer(response, cut);
  const [replacement] = of('status').filter(({ when }) => when === 'after');
  if (replacement !== undefined) replaceAnswer(response, replacement);
  if (of('drop').length > 0) dropAnswer(response);
  const stale = shifts('stale');
  const seen = stale.length === 0 ? reader : staleReader(reader, faults.history, stale);
  await handle({
    reader: skews.length === 0 ? seen : skewedReader(seen, skews),
    trouble: troubleOf(struck.map(({ fault }) => fault)),
  });
}

/**
 * An upgrade has no answer to cut or to replace.
 * @returns `drops-later`: its connection is to end once it stands.
 */
export async function faultsOfUpgrade(
  { faults, sandboxes }: { faults: Faults; sandboxes: Sandboxes },
  call: Call,
  socket: Duplex,
): Promise<'refused' | 'drops-later' | 'passes'> {
  const struck = faults.strike(call);
  for (const { fault } of struck) {
    if (fault.kind === 'latency') await sleep(fault.ms, undefined, { ref: false });
    else if (fault.kind === 'status') {
      refuseUpgradeByFault(socket, fault);
      return 'refused';
    } else if (fault.kind === 'drop' && fault.when === 'before') {
      socket.destroy();
      return 'refused';
    }
  }
  await strikeSandbox(sandboxes, call, struck);
  return struck.some(({ fault }) => fault.kind === 'drop') ? 'drops-later' : 'passes';
}

async function strikeSandbox(
  sandboxes: Sandboxes,
  { sandboxId }: Call,
  struck: readonly { readonly fault: Fault }[],
): Promise<void> {
  if (sandboxId === null || !sandboxes.has(sandboxId)) return;
  const has = (kind: Fault['kind']) => struck.some(({ fault }) => fault.kind === kind);
  if (has('lost-volume')) sandboxes.steps.clearWorkspace(sandboxes.get(sandboxId));
  if (has('lost-sandbox')) await sandboxes.delete(sandboxId);
}

/** Of several rules the first decides. */
function troubleOf(faults: readonly Fault[]): Trouble {
  const trouble: { -readonly [Name in keyof Trouble]: Trouble[Name] } = {};
  for (const fault of faults) {
    if (fault.kind === 'pause-falls-back') trouble.pauseFailsAfterMs ??= fault.afterMs;
    else if (fault.kind === 'pausing') trouble.pausingForMs ??= fault.forMs;
    else if (fault.kind === 'resume-ignored') trouble.resumeIsIgnored = true;
    else if (fault.kind === 'pending') trouble.pendingForMs ??= fault.forMs ?? Number.POSITIVE_INFINITY;
  }
  return trouble;
}
