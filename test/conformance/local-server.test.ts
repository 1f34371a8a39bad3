/** The local server has all that the client relies on, with both kinds of pause. */

import { expect, test } from 'vitest';
import { localDeployment } from './local-deployment.js';
import { describeDeployment } from './support.js';

const pod = describeDeployment('the local server', localDeployment('pod'));
const frozen = describeDeployment(
  'the local server, freezing',
  localDeployment('frozen', { persistence: 'volumes' }),
);

test('what a pause does is told from what is seen', () => {
  expect(pod.get('pause-kind')?.found).toBe('pod deleted');
  expect(frozen.get('pause-kind')?.found).toBe('frozen');
  expect([pod, frozen].map((each) => each.get('persistence')?.found)).toEqual(['extensions', 'volumes']);
});
