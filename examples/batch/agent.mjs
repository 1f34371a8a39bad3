/** Analyses one text, a sentence at a time, and publishes how far it is and what it found. */

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const { TITLE = 'untitled', TEXT = '', SECONDS_PER_SENTENCE = '0.2' } = process.env;
const sentences = TEXT.split(/(?<=[.!?])\s+/).filter(Boolean);
const counts = new Map();
let state = { status: 'running', step: 0, progress: 0, message: `reading ${TITLE}` };

createServer((request, response) => {
  if (request.url !== '/state.json') return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(state));
}).listen(8000);

for (const [index, sentence] of sentences.entries()) {
  await sleep(Number(SECONDS_PER_SENTENCE) * 1000);
  for (const word of sentence.toLowerCase().match(/[a-z]+/g) ?? [])
    counts.set(word, (counts.get(word) ?? 0) + 1);
  state = {
    status: 'running',
    step: index + 1,
    progress: (index + 1) / sentences.length,
    message: sentence.slice(0, 60),
  };
}

const [word, times] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
state =
  sentences.length === 0
    ? { ...state, status: 'failed', error: { message: `${TITLE} has no text` } }
    : {
        ...state,
        status: 'done',
        progress: 1,
        result: { title: TITLE, sentences: sentences.length, word, times },
      };
