import { TestWorkflowEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { cacheDir } from '../../local/folders.js';
import { findTestServer } from '../../local/temporal/index.js';

it('the time-skipping server that was found answers, and skips a day', async () => {
  const { path } = await findTestServer({
    cacheDir: cacheDir(process.env),
    env: process.env,
    log: console.error,
  });
  const server = { executable: { type: 'existing-path', path } } as const;
  const environment = await TestWorkflowEnvironment.createTimeSkipping({ server });
  try {
    const info = await environment.connection.workflowService.getSystemInfo({});
    expect(info.capabilities).toBeTruthy();
    const before = await environment.currentTimeMs();
    await environment.sleep('1 day');
    expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(86_400_000);
  } finally {
    await environment.teardown();
  }
});
