import pico from 'picocolors';
import { describe, expect, it } from 'vitest';
import { renderList } from '../../client/cli/render/list.js';
import { news, plainLine, progressLine } from '../../client/cli/render/progress.js';
import { renderStatus } from '../../client/cli/render/status.js';
import { ago, bar, oneLine, percent, printable, table, truncate } from '../../client/cli/render/text.js';
import { summarize } from '../../client/job-summary.js';
import { at, checkpoint, status } from './statuses.js';

const plain = pico.createColors(false);
const now = Date.parse(at(130));

describe('a status for people', () => {
  it('answers what it does, since when and for how long', () => {
    expect(renderStatus(status({ checkpoint: checkpoint(42, at(126)) }), now, plain)).toBe(
      [
        'audit  running  for 2m 10s',
        '  checkpoint  ████████░░░░░░░░░░░░ 42 %  step 42  group 42  (read 4s ago)',
        '  agent       ready for 2m 9s',
        '  sandbox     sb-1  running  incarnation 1',
        '  time        running 30m · paused 0s · provisioning 4s',
        `  started     ${at(-60)} (3m 10s ago)`,
      ].join('\n'),
    );
  });

  it('shows who holds it and why, and what the last pause and resume did', () => {
    const paused = status({
      phase: 'paused',
      waitingFor: { what: 'a resume (paused by ana@cli: night)', since: at(100) },
      holds: [{ kind: 'manual', by: 'ana@cli', reason: 'night', since: at(100), until: null }],
      receipts: [
        {
          kind: 'resume',
          incarnation: 2,
          cause: [],
          requestedAt: at(50),
          observedAt: at(52),
          readyAt: at(53),
          before: checkpoint(9, at(40)),
          after: checkpoint(7, at(53)),
          regressed: true,
          drain: null,
          evidence: [],
        },
        {
          kind: 'pause',
          incarnation: 2,
          cause: ['manual'],
          requestedAt: at(100),
          observedAt: at(101),
          readyAt: null,
          before: checkpoint(12, at(99)),
          after: null,
          regressed: false,
          drain: null,
          evidence: [],
        },
      ],
    });
    const text = renderStatus(paused, now, plain);
    expect(text).toContain('  waits for   a resume (paused by ana@cli: night) (30s ago)');
    expect(text).toContain(
      '    KIND    BY       SINCE    UNTIL    WHY\n    manual  ana@cli  30s ago  cleared  night',
    );
    expect(text).toContain('running in 2s, answered in 3s: step 9 · 9 % → step 7 · 7 %  WORK LOST');
    expect(text).toContain('pause   #2  paused in 1s at step 12 · 12 % (manual)');
  });

  it('shows why it failed, with the last lines of the log', () => {
    const failed = status({
      phase: 'failed',
      endedAt: at(100),
      failure: { code: 'AGENT_EXITED', message: 'It ended.', logs: 'one\ntwo\n' },
    });
    const text = renderStatus(failed, now, plain);
    expect(text).toContain('    AGENT_EXITED  It ended.\n    last lines of its log:\n    │ one\n    │ two');
    expect(text).not.toContain('agent  ');
  });

  it('shows a small result, and tells where a large one is', () => {
    expect(renderStatus(status({ result: { files: 3 } }), now, plain)).toContain('"files": 3');
    expect(renderStatus(status({ result: 'x'.repeat(5000) }), now, plain)).toContain(
      'longhaul status audit --json',
    );
  });

  it('is safe to print whatever an agent writes', () => {
    const evil = checkpoint(1, at(100), { message: 'a\u001b[2J\u001b]0;title\u0007b\r\nc\u202ed' });
    const text = renderStatus(status({ checkpoint: evil }), now, plain);
    expect(text).toContain('step 1  ab cd');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });
});

describe('a list of jobs', () => {
  it('stands in columns, with the one thing that matters most of each', () => {
    const jobs = [
      status({ checkpoint: checkpoint(42, at(126)) }),
      status({
        id: 'a-longer-name',
        phase: 'paused',
        phaseSince: at(70),
        checkpoint: checkpoint(3, at(60), { progress: null }),
        waitingFor: { what: 'a resume', since: at(70) },
      }),
      status({
        id: 'c',
        phase: 'failed',
        checkpoint: null,
        failure: { code: 'AGENT_FAILED', message: 'no', logs: null },
      }),
    ];
    expect(renderList(jobs.map(summarize), now, plain)).toBe(
      [
        'ID             PHASE    FOR     PROGRESS         STARTED',
        'audit          running  2m 10s  ████░░░░░░ 42 %  3m 10s ago  group 42',
        'a-longer-name  paused   1m      step 3           3m 10s ago  waits for a resume',
        'c              failed   2m 10s                   3m 10s ago  AGENT_FAILED: no',
      ].join('\n'),
    );
  });
});

describe('a job that is followed', () => {
  it('is one line that fits the terminal', () => {
    const long = status({ checkpoint: checkpoint(42, at(126), { message: '漢字'.repeat(60) }) });
    for (const columns of [20, 60, 100]) {
      const line = progressLine(long, now, columns, plain);
      const width = [...line].reduce((sum, each) => sum + (each > '\u2e80' ? 2 : 1), 0);
      expect(width).toBeLessThan(columns);
    }
    expect(progressLine(status({ checkpoint: checkpoint(42, at(126)) }), now, 100, plain)).toBe(
      'running  ██████████░░░░░░░░░░░░░░ 42 %  step 42  group 42  (4s ago)',
    );
  });

  it('says what it waits for instead', () => {
    const waiting = status({ phase: 'pausing', waitingFor: { what: 'the sandbox', since: at(125) } });
    expect(progressLine(waiting, now, 100, plain)).toContain('waits for the sandbox (5s)');
    const away = status({ verdict: { is: 'unreachable', since: at(120), because: 'HTTP 502' } });
    expect(progressLine(away, now, 100, plain)).toContain('unreachable for 10s: HTTP 502');
  });

  it('is a complete line with its time in a log', () => {
    expect(plainLine(status({ checkpoint: checkpoint(42, at(126)) }), now)).toBe(
      `${at(130)} running       ████████░░░░░░░░░░░░  42 %  step 42  group 42`,
    );
  });

  it('leaves a line for a new phase and a new warning, once', () => {
    const before = status();
    const after = status({ phase: 'pausing', warnings: ['mind this'] });
    expect(news(null, before, now, plain)).toHaveLength(1);
    expect(news(before, after, now, plain).map((line) => line.slice(10))).toEqual(['pausing', 'mind this']);
    expect(news(after, after, now, plain)).toEqual([]);
  });
});

describe('texts', () => {
  it('cuts by what a terminal shows', () => {
    expect(truncate('abcdef', 6)).toBe('abcdef');
    expect(truncate('abcdefg', 6)).toBe('abcde…');
    expect(truncate('漢字漢字', 6)).toBe('漢字…');
  });

  it('aligns coloured and wide cells', () => {
    const coloured = pico.createColors(true);
    const [first, second] = table([
      [coloured.red('ab'), 'x'],
      ['漢', 'y'],
      ['abc', 'z'],
    ]).split('\n') as [string, string];
    expect(first.endsWith('   x')).toBe(true);
    expect(second).toBe('漢   y');
  });

  it('keeps progress within its bar', () => {
    expect([bar(-1, 4), bar(0.999, 4), bar(7, 4)]).toEqual(['░░░░', '███░', '████']);
    expect([percent(0.999), percent(1), percent(-0.1)]).toEqual(['99 %', '100 %', '0 %']);
  });

  it('never shows a negative age', () => {
    expect(ago(at(140), now)).toBe('now');
    expect(ago(at(128), now)).toBe('2s ago');
  });

  it('keeps lines and tabs of logs, and nothing that steers', () => {
    expect(printable('a\tb\nc\u001b[31md\u009b2Je')).toBe('a\tb\nc' + 'de');
    expect(oneLine(' a\n b\tc ')).toBe('a b c');
  });
});
