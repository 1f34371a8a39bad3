/** All that the client relies on, in the order in which it must be examined: the shared sandbox lives through it. */

import type { Check } from '../check.js';
import { accessChecks } from './access.js';
import { createChecks } from './create.js';
import { dataPlaneChecks } from './data-plane.js';
import { diagnosticsChecks } from './diagnostics.js';
import { endingChecks } from './ending.js';
import { listingChecks } from './listing.js';
import { pauseChecks } from './pause.js';
import { proxyChecks } from './proxy.js';

export const CHECKS: readonly Check[] = [
  ...accessChecks,
  ...createChecks,
  ...listingChecks,
  ...proxyChecks,
  ...dataPlaneChecks,
  ...diagnosticsChecks,
  ...pauseChecks,
  ...endingChecks,
];
