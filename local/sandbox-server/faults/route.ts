/** `/__faults`: GET lists the rules, POST adds some, DELETE removes them all. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { RouteError } from '../errors.js';
import { readJson, send, sendJson } from '../respond.js';
import type { Faults } from './faults.js';

export const FAULTS_PATH = '/__faults';

/** @throws RequestShapeError for rules that say nothing, RouteError for other methods. */
export async function handleFaultsRequest(
  faults: Faults,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (request.method) {
    case 'GET':
      return sendJson(response, 200, faults.describe());
    case 'POST':
      faults.add(await readJson(request));
      return sendJson(response, 201, faults.describe());
    case 'DELETE':
      faults.clear();
      return send(response, 204, '');
    default:
      throw new RouteError(405, 'Method Not Allowed', { allow: 'GET, POST, DELETE' });
  }
}
