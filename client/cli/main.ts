#!/usr/bin/env node
/** The command `longhaul`: runs it, reports what went wrong, and ends when everything is written. */

import { CliContext } from './context.js';
import { createProgram } from './program.js';
import { reportError } from './report-error.js';

// `longhaul ls | head -1` closes the pipe early; that is no error of anybody.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}

const context = new CliContext(process.env);
try {
  await createProgram(context).parseAsync();
} catch (error) {
  const report = reportError(error);
  if (report !== null) {
    context.exitCode = report.exitCode;
    // For `input` the flag takes the answer; it prints nothing else.
    const wantsJson = process.argv.includes('--json') && process.argv[2] !== 'input';
    if (wantsJson) context.printJson(report.document);
    else if (report.text !== '') context.note(report.text);
  }
}
process.exitCode = context.exitCode;
