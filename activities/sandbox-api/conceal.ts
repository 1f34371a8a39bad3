/** Takes out of a message what it must not give away of the request: servers echo keys and values in errors. */

/** Shorter values are ordinary words (`1`, `true`, `debug`), without which an error could not be understood. */
const SECRET_MIN_CHARS = 8;

export function conceal(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SECRET_MIN_CHARS)
    .sort((a, b) => b.length - a.length)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    .reduce((rest, secret) => rest.replaceAll(secret, '[concealed]'), text);
}
