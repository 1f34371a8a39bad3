/**
 * Python source of the broker: makes TCP connections inside the sandboxes' network namespaces, and hands
 * the connected sockets to Node.js over Node's own IPC channel (a JSON line with the socket attached).
 * Requests: {id, pid, startedAt, port}; answers: the socket, or {id, error}.
 *
 * As root it changes its own namespace only to make the socket, since a socket stays where it was made;
 * connecting does not block, so that one full backlog holds up nobody else. Without that right it forks
 * for each connection and enters the user namespace that owns the network namespace.
 */
export const BROKER_SCRIPT = `
import array, ctypes, errno, fcntl, json, os, selectors, signal, socket, time

CONNECT_TIMEOUT_S = 5
NS_GET_USERNS = 0xB701
libc = ctypes.CDLL(None, use_errno=True)
channel = socket.socket(fileno=int(os.environ['NODE_CHANNEL_FD']))
channel.setblocking(True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
own_user = os.stat('/proc/self/ns/user').st_ino
home = os.open('/proc/self/ns/net', os.O_RDONLY)


def setns(fd):
    if libc.setns(fd, 0):
        raise OSError(ctypes.get_errno(), 'setns')


try:
    setns(home)
    can_return = True
except OSError:
    can_return = False


def send(message, fds=()):
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
    channel.sendmsg([(json.dumps(message) + '\\n').encode()], control)


def hand_over(request, sock):
    sock.setblocking(False)
    send({'cmd': 'NODE_HANDLE', 'type': 'net.Socket', 'msg': {'id': request['id']}}, [sock.fileno()])
    sock.close()


def fail(request, error):
    send({'id': request['id'], 'error': str(error)})


def open_namespace(request):
    fd = os.open('/proc/%d/ns/net' % request['pid'], os.O_RDONLY)
    with open('/proc/%d/stat' % request['pid']) as file:
        started = file.read().rsplit(')', 1)[1].split()[19]
    if started != request['startedAt']:
        os.close(fd)
        raise OSError('the sandbox has ended')
    return fd


def socket_inside(request):
    fd = open_namespace(request)
    try:
        if not can_return:
            owner = fcntl.ioctl(fd, NS_GET_USERNS)
            if os.fstat(owner).st_ino != own_user:
                setns(owner)
        setns(fd)
        try:
            return socket.socket()
        finally:
            if can_return:
                setns(home)
    finally:
        os.close(fd)


def connect_forked(request):
    try:
        sock = socket_inside(request)
        sock.settimeout(CONNECT_TIMEOUT_S)
        sock.connect(('127.0.0.1', request['port']))
        hand_over(request, sock)
    except OSError as error:
        fail(request, error)


waiting = {}
selector = selectors.DefaultSelector()
selector.register(channel, selectors.EVENT_READ)


def begin(request):
    try:
        sock = socket_inside(request)
        sock.setblocking(False)
        code = sock.connect_ex(('127.0.0.1', request['port']))
        if code not in (0, errno.EINPROGRESS):
            sock.close()
            return fail(request, os.strerror(code))
        waiting[sock] = (request, time.monotonic() + CONNECT_TIMEOUT_S)
        selector.register(sock, selectors.EVENT_WRITE)
    except OSError as error:
        fail(request, error)


def finish(sock, timed_out=False):
    request, _ = waiting.pop(sock)
    selector.unregister(sock)
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if timed_out:
        fail(request, 'the connection was not accepted within %d s' % CONNECT_TIMEOUT_S)
    elif code:
        fail(request, os.strerror(code))
    else:
        return hand_over(request, sock)
    sock.close()


def serve(request):
    if 'port' not in request:
        return
    if can_return:
        begin(request)
    elif os.fork() == 0:
        connect_forked(request)
        os._exit(0)


pending = b''
while True:
    for key, _ in selector.select(1 if waiting else None):
        if key.fileobj is not channel:
            finish(key.fileobj)
            continue
        data = channel.recv(65536)
        if not data:
            raise SystemExit
        *lines, pending = (pending + data).split(b'\\n')
        for line in lines:
            serve(json.loads(line))
    for sock, (_, deadline) in list(waiting.items()):
        if time.monotonic() > deadline:
            finish(sock, True)
`;
