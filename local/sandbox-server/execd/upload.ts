/**
 * `POST /files/upload`: pairs of a part `metadata` and a part `file`. Nothing is written before all of it has arrived,
 * so that an upload that breaks off changes nothing; until then it waits in files without a name.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors.js';
import type { Inside } from './inside.js';
import { boundaryOf, MultipartError, readMultipart } from './multipart.js';
import { operate } from './operate.js';
import { permissionOf } from './permission.js';
import { Fields } from './requests.js';
import { openSpool, type Spool } from './spool.js';

const MAX_METADATA_BYTES = 64 * 1024;

interface Form {
  readonly metadata: string[];
  readonly files: Spool[];
}

export async function upload(
  inside: Inside,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const form: Form = { metadata: [], files: [] };
  try {
    await readForm(inside, request, form);
    const { metadata, files } = form;
    if (metadata.length === 0) throw refused('INVALID_FILE_METADATA', 'metadata file is missing');
    if (files.length === 0) throw refused('INVALID_FILE_CONTENT', 'file is missing');
    if (metadata.length !== files.length) {
      const counts = `${metadata.length} vs ${files.length}`;
      throw refused('INVALID_FILE', `metadata and file count mismatch: ${counts}`);
    }
    for (const [index, file] of files.entries()) {
      const fields = parseMetadata(metadata[index] ?? '');
      const args = { path: fields.string('path'), permission: permissionOf(fields) };
      const { body } = await operate(inside, 'upload', args, [file.fd]);
      body.resume();
    }
    response.writeHead(200, { 'content-length': 0 }).end();
  } finally {
    await Promise.all(form.files.map((file) => file.close()));
  }
}

async function readForm(inside: Inside, request: IncomingMessage, form: Form): Promise<void> {
  let sink: (chunk: Buffer) => Promise<void> | void = () => undefined;
  try {
    for await (const event of readMultipart(request, boundaryOf(request.headers['content-type']))) {
      if (event.kind === 'data') await sink(event.chunk);
      else if (event.isFile && event.name === 'metadata') sink = metadataSink(form);
      else if (event.isFile && event.name === 'file') sink = await fileSink(inside, form);
      else sink = () => undefined;
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof MultipartError) throw refused('INVALID_FILE', 'multipart form is empty');
    // The client went away in the middle, or there is no room.
    const why = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new ApiError(500, 'RUNTIME_ERROR', `error receiving files: ${why}`);
  }
}

function metadataSink({ metadata }: Form): (chunk: Buffer) => void {
  const chunks: Buffer[] = [];
  const index = metadata.push('') - 1;
  return (chunk) => {
    // A copy: the chunk that it is a part of is on its way to be reused.
    chunks.push(Buffer.from(chunk));
    const all = Buffer.concat(chunks);
    if (all.length > MAX_METADATA_BYTES) throw refused('INVALID_FILE_METADATA', 'metadata is too long');
    metadata[index] = all.toString('utf8');
  };
}

async function fileSink(inside: Inside, { files }: Form): Promise<(chunk: Buffer) => Promise<void>> {
  const file = await openSpool(inside);
  files.push(file);
  let position = 0;
  // At positions, so that whoever gets the descriptor reads from the beginning.
  return async (chunk) => {
    for (let written = 0; written < chunk.length; ) {
      const { bytesWritten } = await file.write(chunk, written, chunk.length - written, position);
      written += bytesWritten;
      position += bytesWritten;
    }
  };
}

function parseMetadata(text: string): Fields {
  try {
    const fields = new Fields(JSON.parse(text), 'FileMetadata', '');
    permissionOf(fields);
    if (fields.string('path') !== '') return fields;
  } catch (error) {
    throw refused('INVALID_FILE_METADATA', `invalid metadata format. ${(error as Error).message}`);
  }
  throw refused('INVALID_FILE_METADATA', 'metadata path is empty');
}

function refused(code: string, message: string): ApiError {
  return new ApiError(400, code, message);
}
