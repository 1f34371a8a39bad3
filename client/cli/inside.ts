/** Commands that go into the sandbox of a running job: `exec`, `files`. */

import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError } from 'commander';
import type { Longhaul } from '../longhaul.js';
import { type FileEntry, SandboxInside, SandboxRefusal } from '../sandbox-inside.js';
import { examples, jsonOption } from './command-parts.js';
import type { CliContext } from './context.js';
import { oneLine, printable, table } from './render/text.js';
import { CliError } from './report-error.js';

const WORKSPACE = '/workspace';
/** What shells report for a command that a signal has ended. */
const SIGNAL_EXIT_BASE = 128;
const UNKNOWN_SIGNAL_EXIT = 255;

export function addInsideCommands(program: Command, context: CliContext): void {
  program
    .command('exec')
    .description("run a command in a running job's sandbox; Ctrl-C interrupts the command, not the job")
    .argument('<id>', "the job's ID")
    .argument('<command...>', 'after --: the program and its arguments, as they are')
    .option('--cwd <folder>', 'where to run it (default: where the sandbox begins)')
    .option('-e, --env <name=value>', 'a variable for it; may be repeated', collectVariable, {})
    .addHelpText(
      'after',
      `${examples(
        'longhaul exec image-audit -- ls -l /workspace',
        "longhaul exec image-audit -- sh -c 'tail -n 20 *.log | grep ERROR'",
      )}\n\nExit code: that of the command; 128 and the signal's number when a signal ended it.\nIt has no standard input, and its output comes by lines: copy binary files with \`longhaul files get\`.`,
    )
    .action((id: string, command: string[], { cwd, env }: { cwd?: string; env: Record<string, string> }) =>
      insideOf(context, id, async (inside) => {
        const asked = { command: command.map(quote).join(' '), envs: env, ...(cwd && { cwd }) };
        context.exitCode = await run(inside, asked, context);
      }),
    );

  const files = program.command('files').description("look at and copy files of a running job's sandbox");
  files
    .command('ls')
    .description('list a folder')
    .argument('<id>', "the job's ID")
    .argument('[folder]', 'in the sandbox', WORKSPACE)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('longhaul files ls image-audit', 'longhaul files ls image-audit out --json'),
    )
    .action((id: string, folder: string, { json }: { json?: boolean }) =>
      insideOf(context, id, async (inside) => {
        const entries = await inside.list(inWorkspace(folder));
        if (json) context.printJson(entries);
        else if (entries.length > 0) context.print(renderEntries(entries, inWorkspace(folder)));
      }),
    );

  files
    .command('get')
    .description('copy a file out of the sandbox')
    .argument('<id>', "the job's ID")
    .argument('<remote>', 'the file in the sandbox')
    .argument('[local]', 'where to put it; - is standard output (default: its name, in this folder)')
    .addHelpText(
      'after',
      examples(
        'longhaul files get image-audit report.json',
        'longhaul files get image-audit out.csv - | head',
      ),
    )
    .action((id: string, remote: string, local = basename(remote)) =>
      insideOf(context, id, async (inside) => {
        const content = await inside.download(inWorkspace(remote));
        if (local === '-') return await pipeline(content, process.stdout, { end: false });
        await save(content, local);
        context.note(`Copied ${remote} to ${local}.`);
      }),
    );

  files
    .command('put')
    .description('copy a file into the sandbox; what is there is replaced')
    .argument('<id>', "the job's ID")
    .argument('<local>', 'the file here; - is standard input')
    .argument('[remote]', 'where to put it in the sandbox (default: its name, in /workspace)')
    .addHelpText(
      'after',
      examples(
        'longhaul files put image-audit hints.txt',
        'longhaul files put image-audit - in/list.txt < list',
      ),
    )
    .action((id: string, local: string, remote: string | undefined) => {
      if (local === '-' && remote === undefined) {
        throw new CliError(
          'CONFIG_INVALID',
          'Standard input has no name: say where to put it in the sandbox.',
        );
      }
      return insideOf(context, id, async (inside) => {
        const { content, mode } = await readLocal(local);
        const target = inWorkspace(remote ?? basename(local));
        await inside.upload(target.endsWith('/') ? target + basename(local) : target, content, mode);
        context.note(`Copied ${local === '-' ? 'standard input' : local} to ${target}.`);
      });
    });
}

/** Finds the sandbox of a job, and says in words why there is none to go into. */
async function insideOf(
  context: CliContext,
  id: string,
  work: (inside: SandboxInside) => Promise<void>,
): Promise<void> {
  await context.withLonghaul(async (longhaul) => {
    const inside = new SandboxInside(longhaul.config.env, await sandboxOf(longhaul, id));
    try {
      await work(inside);
    } catch (error) {
      throw error instanceof SandboxRefusal ? inWords(error, id) : error;
    }
  });
}

/** Also that of a failed job, while it is kept. */
async function sandboxOf({ jobs }: Longhaul, id: string): Promise<string> {
  const { sandbox, phase, kept } = await jobs.get(id).status();
  if (kept !== null) return kept.sandboxId;
  if (sandbox === null || sandbox.state === 'deleted') {
    throw new CliError('NOT_RUNNING', `The job "${id}" has no sandbox (it is ${phase}).`);
  }
  if (sandbox.state === 'paused') throw paused(id);
  if (sandbox.state === 'starting') throw new CliError('NOT_RUNNING', starting(id));
  return sandbox.id;
}

function inWords({ code, message }: SandboxRefusal, id: string): CliError {
  switch (code) {
    case 'POD_IP_NOT_AVAILABLE':
      return paused(id);
    case 'SANDBOX_NOT_FOUND':
      return new CliError('NOT_RUNNING', `The sandbox of the job "${id}" is gone.`);
    case 'NETWORK_MODE_ENDPOINT_UNAVAILABLE':
      return new CliError('NOT_RUNNING', `The process in the sandbox of the job "${id}" has ended.`);
    case 'BACKEND_CONNECTION_FAILED':
      return new CliError('NOT_RUNNING', starting(id));
    case 'FILE_NOT_FOUND':
      return new CliError('NO_FILE', message.replace(/^file not found\. /, 'There is no such file: '));
    default:
      return new CliError('REFUSED_INSIDE', message);
  }
}

function paused(id: string): CliError {
  return new CliError(
    'NOT_RUNNING',
    `The job "${id}" is paused, and nothing runs there; see \`longhaul resume\`.`,
  );
}

function starting(id: string): string {
  return `The sandbox of the job "${id}" is starting; try again in a moment.`;
}

/** @returns the exit code for our own process. */
async function run(
  inside: SandboxInside,
  command: { readonly command: string },
  context: CliContext,
): Promise<number> {
  let commandId: string | null = null;
  let isInterrupted = false;
  const onInterrupt = () => {
    // Who presses it twice does not want to wait for anybody.
    if (isInterrupted || commandId === null) process.exit(SIGNAL_EXIT_BASE + constants.signals.SIGINT);
    isInterrupted = true;
    inside.interrupt(commandId).catch((error) => context.note(`The command goes on: ${error.message}`));
  };
  process.on('SIGINT', onInterrupt);
  try {
    const { exitCode, reason } = await inside.run(
      command,
      (started) => {
        commandId = started;
      },
      (stream, text) => write(process[stream], process[stream].isTTY ? printable(text) : text),
    );
    if (exitCode === null) throw new SandboxRefusal('NOT_RUN', `The command could not be run (${reason}).`);
    return exitCode === -1 ? exitCodeOfSignal(reason) : exitCode;
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (stream.write(text)) return;
  await new Promise((resolve) => stream.once('drain', resolve));
}

/** The wire names signals in words, e.g. `signal: killed`. */
function exitCodeOfSignal(reason: string): number {
  const names: Record<string, keyof typeof constants.signals> = {
    hangup: 'SIGHUP',
    interrupt: 'SIGINT',
    quit: 'SIGQUIT',
    aborted: 'SIGABRT',
    killed: 'SIGKILL',
    'segmentation fault': 'SIGSEGV',
    'broken pipe': 'SIGPIPE',
    terminated: 'SIGTERM',
  };
  const name = names[/^signal: ([a-z ]*[a-z])/.exec(reason)?.[1] ?? ''];
  return name === undefined ? UNKNOWN_SIGNAL_EXIT : SIGNAL_EXIT_BASE + constants.signals[name];
}

function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'"'"'`)}'`;
}

function inWorkspace(path: string): string {
  return path.startsWith('/') || path.startsWith('~') ? path : posix.join(WORKSPACE, path);
}

function renderEntries(entries: readonly FileEntry[], folder: string): string {
  return table(
    entries.map(({ path, type, size, modified_at: modifiedAt = '', mode }) => [
      `${mode ?? ''}`,
      `${size}`.padStart(10),
      modifiedAt.replace(/\.\d+Z$/, 'Z'),
      `${oneLine(posix.relative(folder, path))}${type === 'directory' ? '/' : type === 'symlink' ? '@' : ''}`,
    ]),
  );
}

async function readLocal(local: string): Promise<{ content: Readable; mode: number }> {
  if (local === '-') return { content: process.stdin, mode: 0 };
  const { mode } = await stat(local).catch((error) => {
    throw new CliError('NO_FILE', `${local} cannot be read (${error.code}).`);
  });
  return { content: createReadStream(local), mode: Number((mode & 0o777).toString(8)) };
}

/** Nobody finds half a file under the name that was asked for. */
async function save(content: Readable, local: string): Promise<void> {
  const draft = `${local}.part-${process.pid}`;
  try {
    await pipeline(content, createWriteStream(draft));
    await rename(draft, local);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function collectVariable(text: string, known: Record<string, string>): Record<string, string> {
  const end = text.indexOf('=');
  if (end < 1) throw new InvalidArgumentError('Write NAME=VALUE.');
  return { ...known, [text.slice(0, end)]: text.slice(end + 1) };
}
