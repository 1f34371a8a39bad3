/** A checked job spec, for tests that start behind the edge. */

import { DEFAULT_SETTINGS, type JobSettings } from '../../contract/job-settings.js';
import type { JobSpec } from '../../contract/job-spec.js';

export const spec: JobSpec = {
  id: null,
  sandbox: {
    image: 'test',
    entrypoint: ['agent'],
    env: {},
    files: [],
    resources: { cpu: '1', memory: '512Mi' },
    persistence: { storageClass: 'local-path', size: '5Gi' },
  },
  checkpoint: { port: 8000, path: 'state.json', everyMs: 1000, stallAfterMs: 60_000 },
  drain: null,
  input: null,
  settings: DEFAULT_SETTINGS,
};

/** The spec with other settings. */
export function withSettings(settings: Partial<JobSettings>): JobSpec {
  return { ...spec, settings: { ...DEFAULT_SETTINGS, ...settings } };
}
