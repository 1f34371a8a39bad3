/** Durations and Kubernetes quantities as people write them. */

const DURATION_UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `2s`, `15m`, `6h`, `1.5d` in ms; `undefined` for anything else. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  const unit = DURATION_UNITS_MS[match?.[2] ?? ''];
  return match?.[1] !== undefined && unit !== undefined ? Math.round(Number(match[1]) * unit) : undefined;
}

/** ms as the shortest duration that reads well, e.g. `90000` as `1m 30s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)}ms`;
  const totalSeconds = Math.round(durationMs / 1000);
  const parts: [number, string][] = [
    [Math.floor(totalSeconds / 86_400), 'd'],
    [Math.floor((totalSeconds % 86_400) / 3600), 'h'],
    [Math.floor((totalSeconds % 3600) / 60), 'm'],
    [totalSeconds % 60, 's'],
  ];
  const shown = parts.filter(([value]) => value > 0).slice(0, 2);
  return shown.map(([value, unit]) => `${value}${unit}`).join(' ') || '0s';
}

const SIZE_FACTORS: Record<string, number> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** A Kubernetes size such as `512Mi` in bytes; `undefined` for anything else. */
export function parseSizeBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([kMGT]?|[KMGT]i)$/.exec(text);
  const factor = SIZE_FACTORS[match?.[2] ?? ''];
  return match?.[1] !== undefined && factor !== undefined ? Number(match[1]) * factor : undefined;
}

/** A Kubernetes CPU quantity such as `2`, `0.5` or `500m` in cores; `undefined` for anything else. */
export function parseCpuCores(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(m?)$/.exec(text);
  return match?.[1] !== undefined ? Number(match[1]) * (match[2] === 'm' ? 0.001 : 1) : undefined;
}
