import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { parseWindowRule } from '../../calendar/index.js';
import { windowRules } from '../../contract/windows.schema.js';

const { cache } = createRequire(import.meta.url);

function isZoneDataLoaded(): boolean {
  return Object.keys(cache).some((path) => path.includes('/moment-timezone/'));
}

it('loads the zone data only when a zone is asked for, since most commands need none', () => {
  expect(windowRules.parse([])).toEqual([]);
  expect(isZoneDataLoaded()).toBe(false);
  expect(parseWindowRule({ from: '22:00', to: '06:00', timezone: 'UTC' }).ok).toBe(true);
  expect(isZoneDataLoaded()).toBe(true);
});
