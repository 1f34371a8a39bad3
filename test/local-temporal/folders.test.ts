import { describe, expect, it } from 'vitest';
import { cacheDir, stateDir } from '../../local/folders.js';

describe('folders on this machine', () => {
  const HOME = '/home/ada';

  it('are named by our own variables first', () => {
    const env = {
      HOME,
      XDG_CACHE_HOME: '/c',
      XDG_STATE_HOME: '/s',
      LONGHAUL_CACHE: '/mine',
      LONGHAUL_HOME: '/data',
    };
    expect([cacheDir(env), stateDir(env)]).toEqual(['/mine', '/data']);
  });

  it('else follow the XDG variables', () => {
    const env = { HOME, XDG_CACHE_HOME: '/c', XDG_STATE_HOME: '/s' };
    expect([cacheDir(env), stateDir(env)]).toEqual(['/c/longhaul', '/s/longhaul']);
  });

  it('else lie in the home folder; an empty variable counts as absent', () => {
    const env = { HOME, XDG_CACHE_HOME: '', LONGHAUL_CACHE: '' };
    expect([cacheDir(env), stateDir(env)]).toEqual([
      '/home/ada/.cache/longhaul',
      '/home/ada/.local/state/longhaul',
    ]);
  });

  it('give an absolute cache folder for a relative one', () => {
    expect(cacheDir({ LONGHAUL_CACHE: 'cache' })).toBe(`${process.cwd()}/cache`);
  });
});
