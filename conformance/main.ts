/** Tells what a deployment of the Agent Sandboxes API can do, and how fast: `npm run conformance -- --url …`. */

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { AGENT_KINDS, type AgentKind } from './agent.js';
import { measureDeployment } from './measure-deployment.js';
import { type DeploymentOptions, probeDeployment } from './probe-deployment.js';
import { capabilityLine, measurementLines, verdictLines } from './report.js';

const USAGE = `Usage: npm run conformance -- --url URL [--key KEY] [options]
  --key KEY            better given by OPEN_SANDBOX_API_KEY: arguments are readable by every user of the machine
  --image IMAGE        with a shell, and node, python3 or busybox; default: python:3.12-slim
  --agent KIND         auto (default), node, python or busybox: what the agent runs on
  --persistence KIND   extensions (default), volumes or none: how a workspace is asked for
  --storage-class NAME default: local-path
  --gateway URL        where the data plane is, if not where the API says
  --rounds N           measure N sandboxes; default: 5, 0: do not measure
  --json FILE          write all that was found and measured there
Exit code: 0 when jobs can run there, 1 when something that they need is missing, 2 for a wrong command line.`;

/** As a shell shows the end by this signal. */
const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

class UsageError extends Error {
  override readonly name = 'UsageError';
}

async function main(): Promise<number> {
  const { json, rounds, ...options } = readOptions();
  const interrupted = new AbortController();
  for (const [name, code] of Object.entries(SIGNAL_EXIT_CODES)) {
    process.once(name, () => {
      console.error(`${name}: deleting what was created…`);
      process.exitCode = code;
      interrupted.abort();
    });
  }
  const deployment: DeploymentOptions = { ...options, signal: interrupted.signal };
  console.log(`${options.apiUrl}, image ${options.image}, persistence by ${options.persistence}\n`);
  const capabilities = await probeDeployment({
    ...deployment,
    onCapability: (capability) => console.log(capabilityLine(capability)),
  });
  console.log(`\n${verdictLines(capabilities).join('\n')}`);
  const failed = capabilities.some(({ verdict }) => verdict === 'fail');
  const measurement = failed || rounds === 0 ? null : await measureDeployment(deployment, rounds);
  if (measurement !== null) {
    console.log(`\n${rounds} sandboxes, one after the other\n${measurementLines(measurement).join('\n')}`);
  }
  if (json !== undefined) {
    const { apiUrl, image, persistence } = options;
    const report = { apiUrl, image, persistence, capabilities, measurement };
    await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return failed ? 1 : 0;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      key: { type: 'string' },
      image: { type: 'string', default: 'python:3.12-slim' },
      agent: { type: 'string', default: 'auto' },
      persistence: { type: 'string', default: 'extensions' },
      'storage-class': { type: 'string', default: 'local-path' },
      gateway: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
    },
  });
  const { url, image, agent, persistence, gateway, rounds, json } = values;
  const apiKey = values.key ?? process.env.OPEN_SANDBOX_API_KEY ?? '';
  if (url === undefined || !URL.canParse(url))
    throw new UsageError('--url must be the URL of the API server.');
  if (gateway !== undefined && gateway === '') throw new UsageError('--gateway must not be empty.');
  if (apiKey === '') throw new UsageError('An API key is needed: OPEN_SANDBOX_API_KEY, or --key.');
  if (!AGENT_KINDS.includes(agent as AgentKind)) {
    throw new UsageError(`--agent must be one of ${AGENT_KINDS.join(', ')}, not "${agent}".`);
  }
  if (persistence !== 'extensions' && persistence !== 'volumes' && persistence !== 'none') {
    throw new UsageError(`--persistence must be extensions, volumes or none, not "${persistence}".`);
  }
  if (!/^\d{1,4}$/.test(rounds))
    throw new UsageError(`--rounds must be a number up to 9999, not "${rounds}".`);
  return {
    apiUrl: url,
    apiKey,
    image,
    agent: agent as AgentKind,
    persistence,
    storageClass: values['storage-class'],
    ...(gateway !== undefined && { gatewayUrl: gateway }),
    rounds: Number(rounds),
    json,
  } as const;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (process.exitCode !== undefined) process.exit();
    const message = error instanceof Error ? error.message : String(error);
    const isUsage =
      error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS');
    console.error(isUsage ? `${message}\n\n${USAGE}` : message);
    process.exit(isUsage ? 2 : 1);
  },
);
