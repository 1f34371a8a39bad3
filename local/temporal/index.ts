/** Temporal's servers for a single machine: found or made, started and stopped. */

export { type DevServer, type DevServerOptions, startDevServer } from './dev-server.js';
export { findTemporalCli, findTestServer, TemporalUnavailableError } from './find.js';
