/**
 * The agent that checks and measurements put into a sandbox: it serves its workspace on port 8000, and tells at
 * `/cgi-bin/echo` what reached it. It makes do with what the image has.
 */

/** `auto` takes the first of the others that the image has. */
export type AgentKind = 'auto' | 'node' | 'python' | 'busybox';
export const AGENT_KINDS: readonly AgentKind[] = ['auto', 'node', 'python', 'busybox'];

export const AGENT_PORT = 8000;
export const LARGE_FILE = 'large.bin';
export const LARGE_FILE_BYTES = 8 * 2 ** 20;
/** A name that must be encoded in a path. */
export const SPACED_FILE = 'a b.txt';
export const SPACED_FILE_TEXT = 'a name with a space';
/** The environment variable that the agent shows. */
export const SHOWN_VARIABLE = 'PROBE';

/** `state.json` of the agent. */
export interface AgentState {
  /** Made anew by each start of the agent. */
  readonly boot: string;
  /** Starts that this workspace has seen. */
  readonly starts: number;
  /** Whether the workspace is a mount of its own: only then can it outlive its container. */
  readonly mounted: 'yes' | 'no';
}

/** What `/cgi-bin/echo` answers. */
export interface Echo {
  readonly method: string;
  readonly query: string;
  /** The header `x-probe`. */
  readonly sent: string;
  /** Whether the header with the API key came through; its value is told to nobody. */
  readonly key: 'yes' | 'no';
  /** The variable of the environment. */
  readonly env: string;
  /** In base64. */
  readonly body: string;
}

/** The large file is made last, so that it does not delay the first answer. */
const SCRIPT = `
mkdir -p /workspace/cgi-bin && cd /workspace || exit 1
boot=$(cat /proc/sys/kernel/random/uuid)
echo "$boot" >>starts
mounted=no; grep -q ' /workspace ' /proc/mounts && mounted=yes
printf '%s' '${SPACED_FILE_TEXT}' >'${SPACED_FILE}'
printf '%s' "$3" >cgi-bin/echo; chmod 755 cgi-bin/echo
printf '{"boot":"%s","starts":%s,"mounted":"%s"}' "$boot" "$(grep -c . starts)" "$mounted" >state.new
mv state.new state.json
[ -e ${LARGE_FILE} ] || (head -c ${LARGE_FILE_BYTES} /dev/zero >large.new && mv large.new ${LARGE_FILE}) &
kind=$4
has() { { [ "$kind" = auto ] || [ "$kind" = "$1" ]; } && command -v "$2" >/dev/null; }
if has node node; then echo "probe agent $boot: node"; exec node -e "$1"
elif has python python3; then echo "probe agent $boot: python"; exec python3 -u -c "$2"
elif has busybox busybox; then
  echo "probe agent $boot: busybox"
  # The first process of a container has no default action for SIGTERM.
  trap 'exit 0' TERM
  busybox httpd -f -p ${AGENT_PORT} -h . & wait
else echo "probe agent: this image has no $kind"; exit 1; fi
`;

const NODE_SERVER = `
const fs = require('node:fs');
process.on('SIGTERM', () => process.exit(0));
require('node:http').createServer(async (request, response) => {
  const [path, query = ''] = request.url.split('?');
  if (path === '/cgi-bin/echo') {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, headers } = request;
    const key = 'open-sandbox-api-key' in headers ? 'yes' : 'no';
    const echo = { method, query, sent: headers['x-probe'] ?? '', key, env: process.env.${SHOWN_VARIABLE} ?? '' };
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ ...echo, body: Buffer.concat(chunks).toString('base64') }));
  }
  const stream = fs.createReadStream('.' + decodeURIComponent(path));
  stream.on('open', () => stream.pipe(response));
  stream.on('error', () => response.writeHead(404).end('no such file'));
}).listen(${AGENT_PORT});
`;

const PYTHON_SERVER = `
import base64, http.server, json, os, signal
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Handler(http.server.SimpleHTTPRequestHandler):
    wbufsize = -1
    def do_GET(self):
        path, _, query = self.path.partition('?')
        if path != '/cgi-bin/echo':
            return super().do_GET()
        body = self.rfile.read(int(self.headers.get('content-length') or 0))
        key = 'yes' if 'open-sandbox-api-key' in self.headers else 'no'
        echo = {'method': self.command, 'query': query, 'sent': self.headers.get('x-probe', ''), 'key': key,
                'env': os.environ.get('${SHOWN_VARIABLE}', ''), 'body': base64.b64encode(body).decode()}
        self.send_response(200)
        self.send_header('content-type', 'application/json')
        self.end_headers()
        self.wfile.write(json.dumps(echo).encode())
    do_POST = do_GET
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(('', ${AGENT_PORT}), Handler).serve_forever()
`;

const CGI_ECHO = `#!/bin/sh
key=no; [ -n "$HTTP_OPEN_SANDBOX_API_KEY" ] && key=yes
body=$(head -c "\${CONTENT_LENGTH:-0}" | base64 | tr -d '\\n')
printf 'Content-Type: application/json\\r\\n\\r\\n'
printf '{"method":"%s","query":"%s","sent":"%s",' "$REQUEST_METHOD" "$QUERY_STRING" "$HTTP_X_PROBE"
printf '"key":"%s","env":"%s","body":"%s"}' "$key" "$${SHOWN_VARIABLE}" "$body"
`;

export function agentEntrypoint(kind: AgentKind): readonly string[] {
  return ['/bin/sh', '-c', SCRIPT, 'sh', NODE_SERVER, PYTHON_SERVER, CGI_ECHO, kind];
}
