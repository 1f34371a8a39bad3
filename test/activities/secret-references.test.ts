import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SecretNotFoundError, secretsFrom } from '../../activities/secret-references.js';
import { everythingOf } from '../sandbox-api/connect.js';

const folder = await mkdtemp(join(tmpdir(), 'longhaul-secrets-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const secrets = secretsFrom({ TOKEN: 'CANARY-token', EMPTY: '', OPEN_SANDBOX_API_KEY: 'CANARY-key' });

async function refusalOf(reference: string): Promise<string> {
  const error = await secrets.resolve(reference).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SecretNotFoundError);
  expect(everythingOf(error)).not.toContain('CANARY');
  return (error as Error).message;
}

describe('a reference to a secret', () => {
  it('names a variable of the worker, with or without its kind', async () => {
    expect(await secrets.resolve('env:TOKEN')).toBe('CANARY-token');
    expect(await secrets.resolve('TOKEN')).toBe('CANARY-token');
  });

  it('names a file, which is read anew each time and without its last line end', async () => {
    const path = join(folder, 'token');
    await writeFile(path, 'first\n');
    expect(await secrets.resolve(`file:${path}`)).toBe('first');
    await writeFile(path, 'two\nlines\r\n');
    expect(await secrets.resolve(`file:${path}`)).toBe('two\nlines');
  });

  it('is followed through links, as Kubernetes mounts its secrets', async () => {
    await mkdir(join(folder, '..2026_03_01'));
    await writeFile(join(folder, '..2026_03_01/key'), 'value');
    await symlink('..2026_03_01', join(folder, '..data'));
    await symlink('..data/key', join(folder, 'key'));
    expect(await secrets.resolve(`file:${join(folder, 'key')}`)).toBe('value');
  });

  it('is named in the error when there is nothing behind it', async () => {
    expect(await refusalOf('env:MISSING')).toBe(
      'The secret env:MISSING cannot be had on this worker: the variable is not set.',
    );
    expect(await refusalOf('MISSING')).toContain('The secret MISSING cannot be had');
    expect(await refusalOf('env:EMPTY')).toContain('the variable is not set');
    expect(await refusalOf('env:toString')).toContain('the variable is not set');
    expect(await refusalOf(`file:${folder}/none`)).toContain(
      `file:${folder}/none cannot be had on this worker: the file cannot be read (ENOENT)`,
    );
    await writeFile(join(folder, 'empty'), '\n');
    expect(await refusalOf(`file:${folder}/empty`)).toContain('the file is empty');
  });

  it('gives nothing that belongs to the worker itself, whoever asks', async () => {
    expect(await refusalOf('env:OPEN_SANDBOX_API_KEY')).toContain('reserved');
    expect(await refusalOf('OPEN_SANDBOX_API_KEY')).toContain('reserved');
    expect(await refusalOf('file:/proc/self/environ')).toContain('cannot be handed out');
    await symlink('/proc/self/environ', join(folder, 'innocent'));
    expect(await refusalOf(`file:${folder}/innocent`)).toContain(
      'links to a folder that cannot be handed out',
    );
  });

  it('reads no folders, and no files that are too large for a secret', async () => {
    expect(await refusalOf(`file:${folder}`)).toContain('no file of at most 64 KiB');
    await writeFile(join(folder, 'large'), Buffer.alloc(70_000));
    expect(await refusalOf(`file:${folder}/large`)).toContain('no file of at most 64 KiB');
  });

  it('is not repeated when it is none, since it may be the secret itself', async () => {
    expect(await refusalOf('CANARY/not-a-name')).toContain('write "env:NAME"');
    expect(await refusalOf('file:relative/CANARY')).toContain('write "env:NAME"');
  });
});
