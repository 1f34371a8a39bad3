/** The few requests that are measured, on kept connections, with as little of a client as can be. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

const POLL_MS = 2;
const READY_TIMEOUT_MS = 120_000;
const PORT = 8000;

export class BenchApi {
  #agent = new Agent({ connections: 256, bodyTimeout: 0, headersTimeout: 0 });
  #url;
  #key;
  #image;
  #signal;
  #made = new Set();

  /**
   * @param image gives the name of an image by that of an agent.
   * @param signal ends what is measured, but not the deletes of `close`.
   */
  constructor({ url, key, image, signal }) {
    this.#url = url.replace(/\/+$/, '');
    this.#key = key;
    this.#image = image;
    this.#signal = signal;
  }

  /** @throws Error for any answer that is not a 2xx. */
  async #call(method, path, body, signal = this.#signal) {
    const response = await request(`${this.#url}${path}`, {
      dispatcher: this.#agent,
      method,
      headers: { 'open-sandbox-api-key': this.#key, ...(body && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  async create(agent) {
    const { id } = await this.#call('POST', '/sandboxes', {
      image: { uri: this.#image(agent.name) },
      entrypoint: agent.entrypoint,
      resourceLimits: { cpu: '1', memory: '256Mi' },
      extensions: { persistence: 'true' },
      metadata: { 'longhaul-bench': 'sandbox' },
    });
    this.#made.add(id);
    return id;
  }

  async delete(id) {
    await this.#call('DELETE', `/sandboxes/${id}`);
    this.#made.delete(id);
  }

  async pause(id) {
    await this.#call('POST', `/sandboxes/${id}/pause`);
    await this.#until(
      'Paused',
      async () => (await this.#call('GET', `/sandboxes/${id}`)).status.state === 'Paused',
    );
  }

  resume(id) {
    return this.#call('POST', `/sandboxes/${id}/resume`);
  }

  async untilReady(id, path) {
    await this.#until('an answer', async () => (await this.read(this.proxied(id, path))).status === 200);
  }

  async #until(what, condition) {
    const deadlineMs = performance.now() + READY_TIMEOUT_MS;
    while (!(await condition())) {
      if (performance.now() > deadlineMs) throw new Error(`Waited too long for ${what}.`);
      await sleep(POLL_MS);
    }
  }

  /** The agent through the API server. */
  proxied(id, path) {
    const headers = { 'open-sandbox-api-key': this.#key };
    return { url: `${this.#url}/sandboxes/${id}/proxy/${PORT}${path}`, headers };
  }

  /** The agent through the data plane. */
  async direct(id, path) {
    const { endpoint, headers = {} } = await this.#call('GET', `/sandboxes/${id}/endpoints/${PORT}`);
    return { url: `http://${endpoint.replace(/^https?:\/\//, '')}${path}`, headers };
  }

  /** Reads the whole answer and throws it away. */
  async read({ url, headers }) {
    const response = await request(url, { dispatcher: this.#agent, headers, signal: this.#signal });
    let sizeBytes = 0;
    for await (const chunk of response.body) sizeBytes += chunk.length;
    return { status: response.statusCode, sizeBytes };
  }

  /** Whatever went wrong before, nothing stays. */
  async close() {
    const unlimited = new AbortController().signal;
    for (const id of this.#made) {
      await this.#call('DELETE', `/sandboxes/${id}`, undefined, unlimited).catch(() => undefined);
    }
    await this.#agent.close();
  }
}
