import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isZoneDataOld, previewPauses, zoneData } from '../../calendar/index.js';
import { CliContext } from '../../client/cli/context.js';
import { addWindowsCommands } from '../../client/cli/windows.js';
import { pausing, running } from './support.js';

const berlin = pausing({ from: '22:00', to: '06:00', timezone: 'Europe/Berlin' });

function note(windows: Parameters<typeof previewPauses>[0], from: string): string | null | undefined {
  return previewPauses(windows, from, 1)[0]?.note;
}

describe('a preview of pauses', () => {
  it('has them in UTC and in local time', () => {
    expect(previewPauses(berlin, '2026-10-24T12:00:00Z', 2)).toEqual([
      {
        start: '2026-10-24T20:00:00Z',
        end: '2026-10-25T05:00:00Z',
        hours: 9,
        timezone: 'Europe/Berlin',
        localStart: '2026-10-24T22:00:00+02:00',
        localEnd: '2026-10-25T06:00:00+01:00',
        note: 'clocks go back 1 h in between: 1 h longer',
      },
      {
        start: '2026-10-25T21:00:00Z',
        end: '2026-10-26T05:00:00Z',
        hours: 8,
        timezone: 'Europe/Berlin',
        localStart: '2026-10-25T22:00:00+01:00',
        localEnd: '2026-10-26T06:00:00+01:00',
        note: null,
      },
    ]);
  });

  it.each([
    [
      '22:00',
      '06:00',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      'clocks go forward 1 h in between: 1 h shorter',
    ],
    [
      '22:00',
      '06:00',
      'Antarctica/Troll',
      '2026-10-24T12:00:00Z',
      'clocks go back 2 h in between: 2 h longer',
    ],
    [
      '22:00',
      '06:00',
      'Australia/Lord_Howe',
      '2026-04-04T10:00:00Z',
      'clocks go back 30 min in between: 30 min longer',
    ],
    ['00:00', '06:00', 'America/Santiago', '2026-09-05T12:00:00Z', 'clocks go forward 1 h as it begins'],
    ['22:00', '24:00', 'America/Santiago', '2026-09-05T12:00:00Z', 'clocks go forward 1 h as it ends'],
    ['01:00', '02:00', 'Europe/Berlin', '2026-10-24T12:00:00Z', 'clocks go back 1 h as it ends: 1 h longer'],
    ['22:00', '06:00', 'America/Vancouver', '2026-10-31T12:00:00Z', null],
  ])('notes what the clocks do from %s to %s in %s', (from, to, timezone, at, expected) => {
    expect(note(pausing({ from, to, timezone }), at)).toBe(expected);
  });

  it('notes both changes of a long pause, and only counts more of them', () => {
    const stretch = (to: string) => pausing({ from: '2026-01-01', to, timezone: 'Europe/Berlin' });
    expect(note(stretch('2026-12-31'), '2026-01-01T00:00:00Z')).toBe(
      'clocks go forward 1 h in between: 1 h shorter; clocks go back 1 h in between: 1 h longer',
    );
    expect(note(stretch('2027-12-31'), '2026-01-01T00:00:00Z')).toBe('clocks are changed 4 times in between');
  });

  it('notes a pause without a beginning or an end', () => {
    const once = running({ from: '2026-12-24', to: '2026-12-26', timezone: 'UTC' });
    expect(previewPauses(once, '2026-12-01T00:00:00Z', 9).map((pause) => pause.note)).toEqual([
      'began more than 400 days ago, or always was',
      'has no end that can be foreseen',
    ]);
  });

  it('also finds a window some years away', () => {
    const windows = pausing({ days: '2030-02-01', timezone: 'UTC' });
    expect(previewPauses(windows, '2026-12-01T00:00:00Z', 9)).toMatchObject([
      { start: '2030-02-01T00:00:00Z', hours: 24 },
    ]);
  });
});

describe('zone data', () => {
  it('is named by its source and release', () => {
    expect(zoneData()).toEqual({
      source: 'moment-timezone',
      version: expect.stringMatching(/^20\d\d[a-z]$/),
    });
  });

  it.each([
    ['2026a', '2027-07-02T00:00:00Z', false],
    ['2026a', '2027-07-04T00:00:00Z', true],
    ['2026f', '2028-02-12T00:00:00Z', false],
    ['2026f', '2028-02-14T00:00:00Z', true],
    ['2026z', '2028-07-04T00:00:00Z', true],
    ['unknown', '2026-01-01T00:00:00Z', true],
  ])('of %s at %s is old: %s', (version, now, expected) => {
    expect(isZoneDataOld(Date.parse(now), { source: 'a test', version })).toBe(expected);
  });
});

describe('longhaul windows preview', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longhaul-windows-'));
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function preview(text: string, ...args: string[]): Promise<{ printed: string; noted: string }> {
    const file = join(folder, 'job.yaml');
    await writeFile(file, text);
    const context = new CliContext({ NO_COLOR: '1' });
    const print = vi.spyOn(context, 'print').mockImplementation(() => {});
    const note = vi.spyOn(context, 'note').mockImplementation(() => {});
    const program = new Command().exitOverride().configureOutput({ outputError: () => {} });
    addWindowsCommands(program, context);
    await program.parseAsync(['windows', 'preview', file, ...args], { from: 'user' });
    return { printed: print.mock.calls.join('\n'), noted: note.mock.calls.join('\n') };
  }

  const YAML = 'pauseWindows:\n  - { from: 22:00, to: 6:00, timezone: europe/berlin }\n';

  it('shows edges in local time and UTC, and the release of the zone data', async () => {
    const { printed } = await preview(YAML, '--next', '2', '--from', '2026-10-24T12:00:00Z');
    expect(printed.split('\n')).toEqual([
      expect.stringMatching(/^FROM +TO +UTC +HOURS$/),
      'Sat 2026-10-24 22:00 +02:00  Sun 2026-10-25 06:00 +01:00  2026-10-24T20:00Z..2026-10-25T05:00Z  9      clocks go back 1 h in between: 1 h longer',
      'Sun 2026-10-25 22:00 +01:00  Mon 2026-10-26 06:00 +01:00  2026-10-25T21:00Z..2026-10-26T05:00Z  8',
      '',
      'Local times are those of Europe/Berlin.',
      `Zone data: IANA ${zoneData().version} (moment-timezone).`,
    ]);
  });

  it('names the zone of each pause when there are several', async () => {
    const two = `${YAML}  - { from: "12:00", to: "13:00", timezone: Asia/Kathmandu }\n`;
    const { printed } = await preview(two, '--next', '2', '--from', '2026-10-24T00:00:00+02:00');
    expect(printed).toContain('TIME ZONE');
    expect(printed).toContain('Sat 2026-10-24 12:00 +05:45  Sat 2026-10-24 13:00 +05:45  Asia/Kathmandu');
  });

  it('prints the pauses as JSON', async () => {
    const { printed } = await preview(YAML, '--next', '3', '--from', '2026-10-24T14:00:00+02:00', '--json');
    expect(JSON.parse(printed)).toEqual(previewPauses(berlin, '2026-10-24T12:00:00Z', 3));
  });

  it('shows the next ten from now on, unless it is told otherwise', async () => {
    const { printed } = await preview(YAML, '--json');
    const pauses = JSON.parse(printed) as { end: string }[];
    expect(pauses).toHaveLength(10);
    expect(Date.parse(pauses[0]?.end as string)).toBeGreaterThan(Date.now());
  });

  it('takes a spec whose other fields are not yet right, and one without windows', async () => {
    const { printed, noted } = await preview('sandbox: {}\n');
    expect(printed).toBe('');
    expect(noted).toMatch(/job\.yaml has no pauseWindows and no runWindows, so no window pauses its job\.$/);
    expect((await preview('sandbox: {}\n', '--json')).printed).toBe('[]');
  });

  it.each([
    ['pauseWindows: [{ from: "25:00", to: "06:00", timezone: UTC }]', 'pauseWindows[0].from'],
    ['runWindows: [{ start: 22:00, to: "06:00", timezone: UTC }]', 'runWindows[0].start'],
    ['pauseWindows: [{ from: "00:00", to: "24:00", timezone: UTC }]', 'pauseWindows'],
    ['pauseWindows: nightly', 'pauseWindows'],
    ['[]', ''],
  ])('refuses %s with the field named', async (text, path) => {
    await expect(preview(text)).rejects.toMatchObject({
      code: 'SPEC_INVALID',
      problems: [expect.objectContaining({ path })],
    });
  });

  it.each(['2026-10-24', 'tomorrow', '2026-10-24T12:00'])(
    'refuses to begin at %s, which has no offset',
    async (from) => {
      await expect(preview(YAML, '--from', from)).rejects.toMatchObject({
        code: 'commander.invalidArgument',
      });
    },
  );
});
