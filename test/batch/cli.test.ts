import { stripVTControlCharacters } from 'node:util';
import pico from 'picocolors';
import { describe, expect, it } from 'vitest';
import type { LiveBatchStatus } from '../../client/batch-reading.js';
import { batchLine, renderBatch, renderBatchList, renderDetails } from '../../client/cli/batch/render.js';

const paint = pico.createColors(false);
const NOW = Date.parse('2026-12-01T01:00:00.000Z');

function status(more: Partial<LiveBatchStatus> = {}): LiveBatchStatus {
  return {
    id: 'nightly',
    phase: 'running',
    waitingFor: null,
    round: 1,
    items: {
      total: 1_000_000,
      completed: 619_000,
      failed: 1000,
      cancelled: 0,
      inFlight: 5000,
      pending: 375_000,
    },
    policy: { concurrency: 5000, ratePerSecond: 5, stopAfter: { percent: 5 } },
    priority: 4,
    hold: null,
    breaker: null,
    causes: [
      {
        code: 'SANDBOX_START_FAILED',
        count: 1000,
        example: { item: 'i17', message: `the image\n${'cannot be pulled '.repeat(20)}\u001b[31m` },
      },
    ],
    hours: { running: 1234.5, paused: 10, provisioning: 3, wasted: 0 },
    sandboxes: 625_000,
    endsPerSecond: 41.25,
    remainingMs: 9_200_000,
    startedAt: '2026-12-01T00:00:00.000Z',
    endedAt: null,
    live: { running: 4000, paused: 500, starting: 500 },
    ...more,
  };
}

describe('a batch on the terminal', () => {
  it('fits into 80 columns, whatever it has to tell', () => {
    const shown = [
      status(),
      status({
        id: 'a-very-long-name'.repeat(5),
        phase: 'partially-failed',
        endedAt: '2026-12-01T02:00:00.000Z',
        live: null,
      }),
      status({
        phase: 'pausing',
        hold: {
          by: 'somebody@somewhere',
          reason: 'a long reason '.repeat(10),
          since: '2026-12-01T00:30:00.000Z',
        },
        waitingFor: `a resume; paused by somebody: ${'a long reason '.repeat(10)}`,
        remainingMs: null,
      }),
    ];
    for (const each of shown) {
      const text = stripVTControlCharacters(renderBatch(each, NOW, paint));
      for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });

  it('tells progress, rate, time left and causes', () => {
    const text = renderBatch(status(), NOW, paint);
    expect(text).toContain('62 %');
    expect(text).toContain('620000 of 1000000');
    expect(text).toContain('41.3/s  about 2h 33m left');
    expect(text).toContain('1000 × SANDBOX_START_FAILED  i17: the image cannot be pulled');
    expect(text).not.toContain('\u001b');
  });

  it('tells no time left while it is paused', () => {
    const paused = status({ phase: 'paused', remainingMs: null, endsPerSecond: 0.02 });
    expect(batchLine(paused, NOW)).toBe(
      '2026-12-01T01:00:00.000Z paused  completed 619000/1000000  failed 1000  running 4000  paused 500  pending 375000  1.2/min when not paused',
    );
  });

  it('tells details and lists', () => {
    expect(renderDetails(status())).toContain(
      '5000 at once · at most 5 starts/s · stops after 5 % failed · priority 4',
    );
    const list = renderBatchList(
      [
        { id: 'a', items: 5, round: 1, startedAt: '2026-12-01T00:59:00.000Z', endedAt: null, status: null },
        {
          id: 'nightly',
          items: 9,
          round: 1,
          startedAt: '2026-12-01T00:00:00.000Z',
          endedAt: null,
          status: status(),
        },
      ],
      NOW,
      paint,
    );
    expect(list).toContain('unknown');
    expect(list).toContain('1000000');
  });
});
