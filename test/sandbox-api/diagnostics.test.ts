import { describe, expect, it } from 'vitest';
import { type Behaviour, flood, html, inTurn, json } from '../support/scripted-api.js';
import { connect } from './connect.js';

const LOGS = 'GET /sandboxes/sb-1/diagnostics/logs';
const plain =
  (text: string): Behaviour =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': 'text/plain' }).end(text);

describe('diagnostics', () => {
  it.each([
    ['JSON', json(200, { kind: 'logs', content: 'one\ntwo\n' })],
    ['plain text', plain('one\ntwo\n')],
  ])('are text out of %s', async (_, behaviour) => {
    const { api, server } = await connect({ [LOGS]: behaviour });
    expect(await api.diagnostics('sb-1', 'logs')).toBe('one\ntwo\n');
    expect(await api.diagnostics('sb-1', 'logs', { tailLines: 1 })).toBe('two');
    expect(server.targets).toEqual([`${LOGS}?scope=container`, `${LOGS}?scope=container&tail=1`]);
  });

  it.each([
    ['a scope', json(400, { code: 'DIAGNOSTICS_SCOPE_UNSUPPORTED', message: 'm' })],
    ['scopes', json(501, { code: 'DIAGNOSTICS_NOT_IMPLEMENTED', message: 'm' })],
  ])('are asked for in the old way where the server does not know %s', async (_, refusal) => {
    const { api, server } = await connect({ [LOGS]: inTurn(refusal, plain('line')) });
    expect(await api.diagnostics('sb-1', 'logs', { tailLines: 5 })).toBe('line');
    expect(server.targets[1]).toBe(`${LOGS}?tail=5`);
  });

  it('of the other kinds are asked for in their own ways', async () => {
    const { api, server } = await connect({
      'GET /sandboxes/sb-1/diagnostics/events': json(200, { content: 'e' }),
      'GET /sandboxes/sb-1/diagnostics/inspect': plain('i'),
    });
    expect(await api.diagnostics('sb-1', 'events')).toBe('e');
    expect(await api.diagnostics('sb-1', 'inspect')).toBe('i');
    expect(server.targets).toEqual([
      'GET /sandboxes/sb-1/diagnostics/events?scope=runtime',
      'GET /sandboxes/sb-1/diagnostics/inspect',
    ]);
  });

  it('give the end of what is too long, in little memory', async () => {
    const sent = { bytes: 0 };
    const long: Behaviour = (incoming, response, body) => {
      const end = response.end.bind(response);
      response.end = () => end('\nlast words\n');
      return flood(150 * 2 ** 20, sent)(incoming, response, body);
    };
    const { api } = await connect({ [LOGS]: long });
    const before = process.memoryUsage().arrayBuffers;
    const text = await api.diagnostics('sb-1', 'logs');
    expect(sent.bytes).toBe(150 * 2 ** 20);
    expect(text.slice(-12)).toBe('last words\n'.padStart(12, '\n'));
    expect(text).toHaveLength(256 * 1024);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 2 ** 20);
  });

  it('are not a page for people, and are missing when their sandbox is', async () => {
    const { api } = await connect({
      [LOGS]: inTurn(
        html(200),
        json(404, { code: 'KUBERNETES::SANDBOX_NOT_FOUND', message: 'No pod found' }),
      ),
    });
    await expect(api.diagnostics('sb-1', 'logs')).rejects.toMatchObject({ name: 'UnreachableError' });
    await expect(api.diagnostics('sb-1', 'logs')).rejects.toMatchObject({
      name: 'SandboxNotFoundError',
      route: 'GET /sandboxes/{id}/diagnostics/logs',
    });
  });
});
