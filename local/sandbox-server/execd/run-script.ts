/**
 * Python source of the process that does one thing inside a sandbox: second half for a command.
 *
 * The command is the leader of a session of its own. Its parent stays outside and passes on what it writes, in frames of
 * kind (1 byte), length (4 bytes, big endian) and payload: `s` it has started; `e` it could not, with JSON of the
 * stage and the reason; `1`, `2` output; `x` JSON of how it ended, after all that it had written until then. On standard input
 * `T` and `K` are the signals for its process group; the end of it means that the server is gone, and kills.
 */
export const RUN_SCRIPT = `
BLOCK = 65536


def frame(kind, payload):
    return kind + struct.pack('>I', len(payload)) + payload


def report(stage, reason, kind=b'e'):
    return frame(kind, json.dumps({'stage': stage, 'reason': reason}).encode())


class Stage(Exception):
    pass


def begin(outputs):
    """Becomes the command, or says why it cannot."""
    for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    env = order['env']
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd, source in enumerate((null, *outputs)):
        os.dup2(source, fd)
    try:
        cwd = resolve(order['cwd'])
        if order['makesCwd']:
            os.makedirs(cwd, 0o777, exist_ok=True)
        if not stat.S_ISDIR(os.stat(cwd).st_mode):
            raise Stage('cwd', 'is not a directory')
        os.chdir(cwd)
    except FileNotFoundError:
        raise Stage('cwd', 'does not exist')
    except (OSError, ValueError) as error:
        raise Stage('cwd', str(error) if isinstance(error, ValueError) else described(error))
    try:
        if order['gid'] is not None and order['gid'] != os.getgid():
            os.setresgid(*[order['gid']] * 3)
        if order['commandUid'] is not None and order['commandUid'] != os.getuid():
            os.setresuid(*[order['commandUid']] * 3)
        for shell in ('bash', 'sh', '/bin/sh'):
            options = ['--noprofile', '--norc'] if shell == 'bash' and order['script'] else []
            code = ['/dev/fd/3'] if order['script'] else ['-c', order['command']]
            try:
                os.execvpe(shell, [shell, *options, *code], env)
            except FileNotFoundError:
                pass
        raise Stage('exec', 'exec: "sh": executable file not found in $PATH')
    except OSError as error:
        raise Stage('exec', described(error, 'fork/exec bash'))


def ending(status):
    if os.WIFSIGNALED(status):
        name = signal.strsignal(os.WTERMSIG(status)).lower()
        return {'exitCode': -1, 'reason': 'signal: ' + name + (' (core dumped)' if os.WCOREDUMP(status) else '')}
    code = os.WEXITSTATUS(status)
    return {'exitCode': code, 'reason': 'exit status %d' % code}


def strike(group, name):
    try:
        os.killpg(group, name)
    except (ProcessLookupError, PermissionError):
        pass


def perish(group):
    """The server has gone. Its command is waited for: as a zombie it would hold up the end of the sandbox."""
    strike(group, signal.SIGKILL)
    try:
        os.waitpid(group, 0)
    except ChildProcessError:
        pass
    os._exit(0)


def obey(group):
    """What the server wants done to the command."""
    orders = os.read(0, 64)
    if not orders:
        perish(group)
    for each in orders:
        strike(group, signal.SIGTERM if each == ord('T') else signal.SIGKILL)


def read_now(fd):
    try:
        return os.read(fd, BLOCK)
    except BlockingIOError:
        return None


def supervise(pid, outputs, wake):
    pending, end, left = frame(b's', b''), None, {fd: BLOCK for fd in outputs}
    while True:
        awake, writable, _ = select.select([0, wake, *([] if pending else outputs)], [1] if pending else [], [])
        if 0 in awake:
            obey(pid)
        if wake in awake:
            os.read(wake, 512)
            if end is None and (found := os.waitpid(pid, os.WNOHANG))[0]:
                end = ending(found[1])
        if writable:
            try:
                pending = pending[os.write(1, pending):]
            except BlockingIOError:
                pass
            except OSError:
                perish(pid)
        if pending:
            continue
        for fd in [fd for fd in list(outputs) if end is not None or fd in awake]:
            # What the command had written when it ended fits into the pipe; others may hold that open for ever.
            data = read_now(fd) if left[fd] > 0 else None
            if data == b'':
                del outputs[fd]
            elif data is not None:
                pending += frame(outputs[fd], data)
                left[fd] -= len(data) if end is not None else 0
        if end is not None and not pending:
            os.set_blocking(1, True)
            return send(frame(b'x', json.dumps(end).encode()))


def discard(pid, outputs):
    """Children that the command has left behind may go on writing, to nobody."""
    while outputs:
        for fd in select.select([0, *outputs], [], [])[0]:
            if fd == 0:
                obey(pid)
            elif read_now(fd) == b'':
                del outputs[fd]


def run():
    if refusal is not None:
        return send(report('enter', refusal))
    wake, woken = os.pipe()
    for fd in (wake, woken, 1):
        os.set_blocking(fd, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    begun, beginning = os.pipe()
    pipes = [] if order['background'] else [os.pipe(), os.pipe()]
    try:
        pid = fork_inside()
    except OSError as error:
        return send(report('enter', described(error)))
    if pid == 0:
        try:
            begin([writer for _, writer in pipes] or [3, 3])
        except Stage as stage:
            send(json.dumps(stage.args).encode(), beginning)
        os._exit(127)
    os.close(beginning)
    for _, writer in pipes:
        os.close(writer)
    why = os.read(begun, 4096)
    if why:
        return send(report(*json.loads(why)))
    outputs = {reader: name for (reader, _), name in zip(pipes, (b'1', b'2'))}
    for fd in outputs:
        os.set_blocking(fd, False)
    supervise(pid, outputs, wake)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    discard(pid, outputs)


run()
`;
