/**
 * Python source of the process that does one thing inside a sandbox: first half, which takes the order and goes in.
 *
 * It joins the sandbox's control groups, becomes its user, and enters its namespaces; the fork that follows is then a
 * process of the sandbox, in its process namespace, without any right. Everything is loaded before, so that nothing of
 * the sandbox's image is needed, and paths are resolved by the kernel as the sandbox sees them: no symbolic link leads
 * out of it. The order is JSON on standard input, after its length in ten digits; arguments could be read by everybody.
 */
export const INSIDE_SCRIPT = String.raw`
import ctypes, errno, fcntl, json, os, re, select, shutil, signal, stat, struct, sys, time

NS_GET_USERNS = 0xB701
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
CAPABILITY_VERSION_3 = 0x20080522
NAMESPACES = ('mnt', 'net', 'ipc', 'uts', 'cgroup', 'pid')
libc = ctypes.CDLL(None, use_errno=True)


def read_exactly(count):
    data = b''
    while len(data) < count:
        more = os.read(0, min(count - len(data), 1 << 20))
        if not more:
            os._exit(1)
        data += more
    return data


def send(data, fd=1):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def described(error, what=None):
    reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
    return reason if what is None else '%s: %s' % (what, reason)


def ended():
    return OSError(errno.ESRCH, 'the sandbox has ended')


def enter(inside, uid):
    init = inside['pid']
    try:
        spaces = [os.open('/proc/%d/ns/%s' % (init, name), os.O_RDONLY) for name in NAMESPACES]
        with open('/proc/%d/task/%d/children' % (init, init)) as file:
            entrypoint = file.read().split()[0]
        user = os.open('/proc/%s/ns/user' % entrypoint, os.O_RDONLY)
        with open('/proc/%d/stat' % init) as file:
            started = file.read().rsplit(')', 1)[1].split()[19]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        raise ended()
    if started != inside['startedAt']:
        raise ended()
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    # The namespaces belong to the outer of two user namespaces, the entrypoint to the inner one.
    owner = fcntl.ioctl(spaces[0], NS_GET_USERNS)
    call('setns', owner, 0)
    for space in spaces:
        call('setns', space, 0)
    if os.fstat(owner).st_ino != os.fstat(user).st_ino:
        call('setns', user, 0)
    for fd in [*spaces, owner, user]:
        os.close(fd)


def fork_inside():
    alive, held = os.pipe()
    pid = os.fork()
    if pid:
        os.close(alive)
        return pid
    os.close(held)
    if order['inside'] is not None:
        call('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        call('capset', struct.pack('=Ii', CAPABILITY_VERSION_3, 0), bytes(24))
    if sys.platform == 'linux':
        call('prctl', PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.set_blocking(alive, False)
    try:
        os.read(alive, 1)
        os._exit(1)  # the parent ended before it could be watched
    except BlockingIOError:
        return 0


# What paths are called inside, and where that is. They differ only where there is no isolation.
def outer(path):
    named, actual = order['workspace']
    if path == named or path.startswith(named + '/'):
        return actual + path[len(named):]
    return path


def inner(path):
    named, actual = order['workspace']
    if path == actual or path.startswith(actual + '/'):
        path = named + path[len(actual):]
    return path.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')


def resolve(path, env=None):
    env = order['env'] if env is None else env
    variable = re.compile(r'\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))', re.ASCII)
    missing = sorted({name for each in variable.findall(path) for name in each if name and name not in env})
    if missing:
        raise ValueError('path references undefined environment variables: ' + ','.join(missing))
    path = variable.sub(lambda match: env[match.group(1) or match.group(2)], path)
    if path == '~' or path.startswith('~/'):
        path = env.get('HOME', '/') + path[1:]
    return outer(os.path.normpath(os.path.join(order['workspace'][0], path)))


order = json.loads(read_exactly(int(read_exactly(10))))
# What the server itself has inherited must not be open inside.
os.closerange(3 + order['files'], 4096)
os.umask(0o022)
refusal = None
try:
    for file in order['cgroups']:
        with open(file, 'w') as group:
            group.write(str(os.getpid()))
    if order['inside'] is not None:
        enter(order['inside'], order['uid'])
except OSError as error:
    refusal = described(error)
`;
