/**
 * Secrets in job specs: how they are named instead of written, and how one that was written is recognised.
 * The client checks with it, and so does the worker, since not every job comes through our client.
 */

/** Names in the sandbox's environment, and where their values are: `env:NAME` or `file:/path`, on the worker. */
export type SecretEnv = Readonly<Record<string, string>>;

export type SecretReference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string };

/** What belongs to Longhaul itself, or to the infrastructure around it, and is never handed to an agent. */
const RESERVED = /^(OPEN_SANDBOX|TEMPORAL|LONGHAUL|AWS)_/;
/** Through these every other process and variable of the worker could be read. */
const RESERVED_PATHS = /^\/(proc|sys|dev)(\/|$)/;

/**
 * Reads a reference to a secret.
 * @returns the reference, or why it is none; in words that do not repeat it, since it may be the secret itself.
 */
export function parseSecretReference(
  text: string,
): { readonly ok: true; readonly reference: SecretReference } | { readonly ok: false; readonly why: string } {
  const name = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text)?.[1];
  if (name !== undefined) {
    if (RESERVED.test(name)) return { ok: false, why: `"${name}" is reserved and cannot be handed out` };
    return { ok: true, reference: { kind: 'env', name } };
  }
  const path = text.startsWith('file:') ? text.slice('file:'.length) : '';
  if (!path.startsWith('/') || path.endsWith('/') || path.includes('\0')) {
    return { ok: false, why: 'is no reference to a secret; write "env:NAME" or "file:/absolute/path"' };
  }
  if (/\/\.{0,2}(\/|$)/.test(path)) return { ok: false, why: 'must be a plain path, without ".." or "//"' };
  if (RESERVED_PATHS.test(path))
    return { ok: false, why: 'lies in a folder that cannot be handed out (/proc, /sys, /dev)' };
  return { ok: true, reference: { kind: 'file', path } };
}

/** Shapes by which a secret is known whatever its name is. Each needs its whole length, so that talk of it passes. */
const SHAPES: readonly (readonly [what: string, shape: RegExp])[] = [
  ['an Anthropic API key', /\bsk-ant-[\w-]{20,}/],
  ['an API key', /\bsk-(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]*[A-Za-z0-9]{16,}/],
  ['a Stripe key', /\b[rs]k_live_[A-Za-z0-9]{16,}/],
  ['a GitHub token', /\b(gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{22,})/],
  ['a GitLab token', /\bglpat-[\w-]{20,}/],
  ['a Slack token', /\bx(ox[abeoprs]|app)-\d[\w-]{9,}/],
  ['an AWS access key', /\b(AKIA|ASIA)[A-Z0-9]{16}\b/],
  ['a Google API key', /\bAIza[\w-]{35}/],
  ['a Hugging Face token', /\bhf_[A-Za-z0-9]{30,}/],
  ['a webhook secret', /\bwhsec_[A-Za-z0-9+/]{20,}/],
  ['an npm token', /\bnpm_[A-Za-z0-9]{36}/],
  ['a private key', /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/],
  ['a JSON web token', /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/],
  // A placeholder in place of the password gives nothing away.
  ['a URL with a password', /\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:(?![${<*%])[^\s@/]+@/i],
];

const SECRET_NAME =
  /(^|_)((API|ACCESS|SECRET|PRIVATE|ENCRYPTION|SIGNING)_?KEY|(AUTH|ACCESS|API)?TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)$/i;
const SECRET_VALUE_MIN_CHARS = 16;
/** Bits a character: random hexadecimal digits have about 3.5, words and dates less, mostly with repetitions. */
const RANDOM_MIN_BITS = 3;

/** Whether a variable of this name usually holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** @returns what the value of a variable looks like, e.g. `a GitHub token`; `null` where it looks harmless. */
export function secretIn(name: string, value: string): string | null {
  const shape = SHAPES.find(([, pattern]) => pattern.test(value));
  if (shape !== undefined) return shape[0];
  return isSecretName(name) && looksRandom(value) ? 'a secret' : null;
}

function looksRandom(value: string): boolean {
  // White space and braces: a sentence, or a placeholder of somebody's template.
  if (value.length < SECRET_VALUE_MIN_CHARS || /[\s{}<>]/.test(value)) return false;
  if (/^(\.{0,2}\/[\w.-]+)+$/.test(value) || /^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(value)).length;
  return kinds >= 2 && !isMadeOfWords(value) && bitsPerCharacter(value) >= RANDOM_MIN_BITS;
}

/** `prod-db-credentials-v2`: a name of something. */
function isMadeOfWords(value: string): boolean {
  return value.split(/[-_.:/]/).every((part) => /^([A-Z]?[a-z]*|[A-Z]*)\d{0,4}$/.test(part));
}

function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((bits, count) => {
    const share = count / text.length;
    return bits - share * Math.log2(share);
  }, 0);
}
