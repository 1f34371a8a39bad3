/** Temporal's servers for a single machine: found or made, started and stopped. */

export { type DevServer, type DevServerOptions, startDevServer } from './dev-server.js';
export { type FoundCli, findTemporalCli } from './find-cli.js';
export { type FoundTestServer, findTestServer } from './find-test-server.js';
export { type FindOptions, TemporalUnavailableError } from './finding.js';
