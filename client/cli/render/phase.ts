/** A phase in its colour. */

import type { Phase } from '../../../contract/status.js';
import type { Paint } from '../context.js';

export function paintPhase(phase: Phase, paint: Paint): string {
  switch (phase) {
    case 'completed':
      return paint.green(phase);
    case 'failed':
      return paint.red(phase);
    case 'cancelled':
      return paint.magenta(phase);
    case 'running':
      return paint.cyan(phase);
    case 'paused':
      return paint.yellow(phase);
    default:
      return paint.blue(phase);
  }
}
