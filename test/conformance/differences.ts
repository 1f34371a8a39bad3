/**
 * Where the local server and OpenSandbox 1.1.1 on docker are found to differ, and why that may be. Differences
 * in single answers, below what the client sees, are in test/sandbox-server/wire-*.ts.
 */

export interface Difference {
  readonly real: string;
  readonly local: string;
  readonly because: string;
}

export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  'proxy-key-check': {
    real: 'no',
    local: 'yes',
    because: 'the vendor’s page asks for the key on every request; upstream does not check it on this route',
  },
  gateway: {
    real: 'address',
    local: 'gateway and header',
    because: 'the vendor’s page shows a gateway and a header; docker without an ingress gives an address',
  },
};
