/** The two ways in, each with what its listener needs to know about it. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ApiOptions, handleApiRequest, upgradeTarget } from './api.js';
import type { Disturbed } from './faults/apply.js';
import { apiCall, gatewayCall } from './faults/calls.js';
import type { Call, Faults } from './faults/faults.js';
import { FAULTS_PATH } from './faults/route.js';
import { gatewayTarget } from './gateway.js';
import { type ProxyTarget, proxy } from './proxy.js';
import { parseRoute } from './route.js';

export interface Door {
  handle(request: IncomingMessage, response: ServerResponse, disturbed: Disturbed): Promise<void>;
  /** Where an upgrade request leads to. @throws ApiError, RouteError when it leads nowhere. */
  targetOf(request: IncomingMessage): ProxyTarget;
  /** What fault rules see of a request; `null` for one that they do not strike. */
  callOf(faults: Faults, request: IncomingMessage): Promise<Call | null>;
}

export function apiDoor(options: ApiOptions): Door {
  return {
    handle: (request, response, disturbed) => handleApiRequest(options, request, response, disturbed),
    targetOf: (request) => upgradeTarget(options, request),
    callOf: async (faults, request) =>
      parseRoute(request.url ?? '/').path === FAULTS_PATH ? null : await apiCall(faults, request),
  };
}

export function gatewayDoor({ sandboxes }: Pick<ApiOptions, 'sandboxes'>): Door {
  return {
    handle: (request, response) => proxy(sandboxes, gatewayTarget(request), request, response),
    targetOf: gatewayTarget,
    callOf: async (faults, request) => gatewayCall(faults, request, gatewayTarget(request)),
  };
}
