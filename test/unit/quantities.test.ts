import { describe, expect, it } from 'vitest';
import { formatDuration, parseCpuCores, parseDurationMs, parseSizeBytes } from '../../contract/quantities.js';

describe('quantities', () => {
  it.each([
    ['500ms', 500],
    ['2s', 2000],
    ['15m', 900_000],
    ['1.5h', 5_400_000],
    ['30d', 2_592_000_000],
    ['2', undefined],
    ['2 s', undefined],
    ['-2s', undefined],
    ['1y', undefined],
    ['', undefined],
    ['NaNs', undefined],
  ])('reads the duration %j as %j ms', (text, durationMs) => {
    expect(parseDurationMs(text)).toBe(durationMs);
  });

  it.each([
    ['512Mi', 536_870_912],
    ['1k', 1000],
    ['1.5Gi', 1_610_612_736],
    ['7', 7],
    ['512m', undefined],
    ['512MB', undefined],
    ['Mi', undefined],
  ])('reads the size %j as %j bytes', (text, sizeBytes) => {
    expect(parseSizeBytes(text)).toBe(sizeBytes);
  });

  it.each([
    ['1', 1],
    ['0.5', 0.5],
    ['500m', 0.5],
    ['lots', undefined],
    ['1k', undefined],
  ])('reads the CPU quantity %j as %j cores', (text, cores) => {
    expect(parseCpuCores(text)).toBe(cores);
  });

  it.each([
    [0, '0ms'],
    [900, '900ms'],
    [90_000, '1m 30s'],
    [3_600_000, '1h'],
    [90_061_000, '1d 1h'],
  ])('writes %j ms as %j', (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});
