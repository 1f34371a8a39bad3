/** Receipts of pauses and resumes, for people. Pure. */

import { formatDuration } from '../../../contract/quantities.js';
import type { Receipt } from '../../../contract/status.js';
import type { Paint } from '../context.js';
import { place } from './status.js';
import { indent, oneLine } from './text.js';

/** All that is known of each pause and resume, latest last. */
export function renderReceipts(receipts: readonly Receipt[], paint: Paint): string {
  return receipts.map((receipt) => renderReceipt(receipt, paint)).join('\n');
}

function renderReceipt(receipt: Receipt, paint: Paint): string {
  const { kind, incarnation, cause, requestedAt, observedAt, readyAt, before, after, regressed } = receipt;
  const took = (from: string, to: string) => formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)));
  const lines =
    kind === 'pause'
      ? [
          `cause     ${cause.join(', ') || 'restart'}`,
          ...(receipt.drain === null
            ? []
            : [
                `drain     ${receipt.drain.kind} in ${formatDuration(receipt.drain.tookMs)}: ${oneLine(receipt.drain.detail)}`,
              ]),
          `Paused    ${observedAt}, ${took(requestedAt, observedAt)} after the request`,
          `last seen ${place(before)}${before === null ? '' : `, ${before.digest.slice(0, 19)}…`}`,
          ...receipt.evidence.map((key) => `saved     ${key}`),
        ]
      : [
          `Running   ${observedAt}, ${took(requestedAt, observedAt)} after the request`,
          ...(readyAt === null
            ? []
            : [`answered  ${readyAt}, ${took(requestedAt, readyAt)} after the request`]),
          `work      ${place(before)} → ${place(after)}${regressed ? paint.red('  WORK LOST') : ''}`,
        ];
  const title = `${requestedAt}  ${paint.bold(kind)}  incarnation ${incarnation}`;
  return `${title}\n${indent(lines.join('\n'), '  ')}`;
}
