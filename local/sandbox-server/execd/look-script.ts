/**
 * Python source of the process that does one thing inside a sandbox: the operations on files that only look.
 * Each takes the order's `arguments`, and returns what becomes the JSON of the answer.
 */
export const LOOK_SCRIPT = String.raw`
class Refused(Exception):
    """Arguments: HTTP status, code, message."""


def not_found(error, prefix=''):
    text = prefix + str(error)
    if isinstance(error, FileNotFoundError):
        return Refused(404, 'FILE_NOT_FOUND', 'file not found. ' + text)
    return Refused(500, 'RUNTIME_ERROR', 'error accessing file: ' + text)


class Failed(OSError):
    """An error in the words in which it is answered: operation, path and reason."""

    def __str__(self):
        return self.words


def attempt(operation, path, work, *arguments, **options):
    try:
        return work(*arguments, **options)
    except OSError as error:
        kind = type('Failed', (Failed, type(error)), {})
        failed = kind(error.errno, error.strerror)
        failed.words = '%s %s: %s' % (operation, inner(path), described(error))
        raise failed


def resolved(path):
    try:
        return resolve(path)
    except ValueError as error:
        raise Refused(500, 'RUNTIME_ERROR', 'error resolving %s. %s' % (path, error))


def names_of(file):
    """Read here: the system's own way would load libraries of the image."""
    try:
        with open(file, encoding='utf-8', errors='replace') as lines:
            rows = [line.split(':') for line in lines]
        return {row[2]: row[0] for row in rows if len(row) > 2}
    except OSError:
        return {}


def clock(nanoseconds):
    seconds, rest = divmod(nanoseconds, 10**9)
    fraction = ('.%09d' % rest).rstrip('0') if rest else ''
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds)) + fraction + 'Z'


def facts(path, found, users, groups):
    kinds = ((stat.S_ISLNK, 'symlink'), (stat.S_ISDIR, 'directory'), (stat.S_ISREG, 'file'))
    return {
        'path': inner(path),
        'type': next((name for is_kind, name in kinds if is_kind(found.st_mode)), 'other'),
        'size': found.st_size,
        'modified_at': clock(found.st_mtime_ns),
        'created_at': clock(found.st_ctime_ns),
        'owner': users.get(str(found.st_uid), str(found.st_uid)),
        'group': groups.get(str(found.st_gid), str(found.st_gid)),
        'mode': int(oct(found.st_mode & 0o777)[2:]),
    }


def named():
    return names_of('/etc/passwd'), names_of('/etc/group')


def info(paths):
    names, answer = named(), {}
    for path in paths:
        target = resolved(path)
        try:
            answer[path] = facts(target, attempt('lstat', target, os.lstat, target), *names)
        except OSError as error:
            raise not_found(error, 'file not found: %s: ' % path if isinstance(error, FileNotFoundError)
                            else 'error accessing file %s: ' % path)
    return answer


def entries(folder):
    return sorted(attempt('open', folder, os.listdir, folder))


def search(path, pattern):
    root = resolved(path)
    try:
        attempt('stat', root, os.stat, root)
    except OSError as error:
        raise not_found(error)
    names, answer, waiting, fits = named(), [], [root], None
    while waiting:
        place = waiting.pop()
        try:
            found = attempt('lstat', place, os.lstat, place)
            if stat.S_ISDIR(found.st_mode):
                waiting.extend(os.path.join(place, name) for name in reversed(entries(place)))
                continue
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Refused(500, 'RUNTIME_ERROR',
                          'error searching files. error accessing path %s: %s' % (inner(place), error))
        fits = fits or glob(pattern)
        if fits.fullmatch(os.path.basename(place)):
            answer.append(facts(place, found, *names))
    return answer


def glob(pattern):
    """Of one name: a star, a question mark, classes, alternatives."""
    out, depth, at = '', 0, 0
    bad = Refused(500, 'RUNTIME_ERROR', 'error searching files. invalid pattern %s: syntax error in pattern' % pattern)
    while at < len(pattern):
        sign, at = pattern[at], at + 1
        if sign == '*':
            out += '[^/]*'
        elif sign == '?':
            out += '[^/]'
        elif sign == '\\':
            if at == len(pattern):
                raise bad
            out, at = out + re.escape(pattern[at]), at + 1
        elif sign == '[':
            body = re.compile(r'([!^]?)((?:\\.|[^\]\\])+)\]').match(pattern, at)
            if body is None:
                raise bad
            members = re.sub(r'\\?(.)', lambda each: each[1] if each[0] == '-' else '\\' + each[1] if not each[1].isalnum() else each[1], body[2])
            out, at = out + '[' + ('^' if body[1] else '') + members + ']', body.end()
        elif sign == '{':
            out, depth = out + '(?:', depth + 1
        elif sign == '}' and depth:
            out, depth = out + ')', depth - 1
        elif sign == ',' and depth:
            out += '|'
        else:
            out += re.escape(sign)
    if depth:
        raise bad
    try:
        return re.compile(out, re.DOTALL)
    except re.error:
        raise bad


def list_folder(path, depth):
    root = resolved(path)
    try:
        found = attempt('lstat', root, os.lstat, root)
    except OSError as error:
        raise not_found(error)
    for is_kind, what in ((stat.S_ISLNK, 'a symbolic link, refusing to traverse'), (stat.S_ISDIR, None)):
        if is_kind(found.st_mode) == (what is not None):
            why = what or 'not a directory'
            raise Refused(400, 'INVALID_REQUEST_BODY', 'path is %s: %s' % (why, inner(root)))
    names, answer = named(), []
    waiting = [(root, name, 1) for name in reversed(entries(root))] if depth else []
    try:
        while waiting:
            folder, name, level = waiting.pop()
            place = os.path.join(folder, name)
            found = attempt('lstat', place, os.lstat, place)
            answer.append(facts(place, found, *names))
            if stat.S_ISDIR(found.st_mode) and level < depth:
                waiting.extend((place, each, level + 1) for each in reversed(entries(place)))
    except OSError as error:
        raise Refused(500, 'RUNTIME_ERROR', 'error listing directory %s. %s' % (inner(root), error))
    return answer


def download(path):
    """Says what there is, is told which part of it is wanted, and sends that."""
    target = resolved(path)
    try:
        file = attempt('open', target, os.open, target, os.O_RDONLY | os.O_NONBLOCK)
        found = os.fstat(file)
        if stat.S_ISDIR(found.st_mode):
            attempt('read', target, os.read, file, 1)
    except OSError as error:
        raise not_found(error)
    size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    name = os.path.basename(inner(target))
    send(json.dumps({'status': 200, 'size': size, 'modified': int(found.st_mtime), 'name': name}).encode() + b'\n')
    start, length = struct.unpack('>QQ', read_exactly(16))
    if length:
        os.lseek(file, start, os.SEEK_SET)
    while length > 0:
        data = os.read(file, min(length, 1 << 18))
        if not data:
            os._exit(1)
        send(data)
        length -= len(data)
    os._exit(0)
`;
