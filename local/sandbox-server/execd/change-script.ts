/**
 * Python source of the process that does one thing inside a sandbox: the operations on files that change something,
 * and the last lines, which run the one that was ordered. The answer is a line of JSON `{status, length}` or
 * `{status, code, message}`, and so many bytes of JSON.
 */
export const CHANGE_SCRIPT = String.raw`
def broken(message):
    return Refused(500, 'RUNTIME_ERROR', message)


def number_of(name, file):
    return next((int(number) for number, each in names_of(file).items() if name and each == name), -1)


def permit(path, permission):
    mode = permission['mode']
    if mode:
        try:
            bits = int(str(mode), 8)
        except ValueError:
            raise ValueError('strconv.ParseUint: parsing "%s": invalid syntax' % mode)
        attempt('chmod', path, os.chmod, path, bits)
    uid, gid = number_of(permission['owner'], '/etc/passwd'), number_of(permission['group'], '/etc/group')
    if uid == gid == -1:
        uid, gid = os.getuid(), os.getgid()
    try:
        attempt('chown', path, os.chown, path, uid, gid)
    except OSError as error:
        raise ValueError('failed to set owner/group for %s: %s' % (inner(path), error))


def permissions(items):
    for path, permission in items.items():
        try:
            permit(resolved(path), permission)
        except (OSError, ValueError) as error:
            raise broken('error changing permissions for %s. %s' % (path, error))


def upload(path, permission):
    target = resolved(path)
    folder = os.path.dirname(target)
    try:
        attempt('mkdir', folder, os.makedirs, folder, 0o777, exist_ok=True)
    except OSError as error:
        raise broken('error creating target directory %s. %s' % (inner(folder), error))
    write(target)
    try:
        permit(target, permission)
    except (OSError, ValueError) as error:
        raise broken('error chmoding file %s. %s' % (inner(target), error))


def write(target):
    """What has been uploaded is file 3. Readers see the old content or the new one, and never a part of it."""
    place = os.path.realpath(target)
    draft = os.path.join(os.path.dirname(place), '.upload-' + os.urandom(8).hex())
    try:
        old = os.stat(place) if os.path.exists(place) else None
        if old is not None and not stat.S_ISREG(old.st_mode):
            draft = place
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777) if draft != place else None
    except OSError:
        file = None
    if file is None:  # no new file can be made there, or must not
        draft = place
        try:
            file = attempt('open', target, os.open, place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o777)
        except OSError as error:
            raise broken('error opening destination file %s. %s' % (inner(target), error))
    try:
        if draft != place and old is not None:
            os.fchmod(file, stat.S_IMODE(old.st_mode))
        while data := os.read(3, 1 << 18):
            attempt('write', target, send, data, file)
        if draft != place:
            attempt('rename', target, os.rename, draft, place)
    except OSError as error:
        if draft != place:
            os.unlink(draft)
        raise broken('error copying file %s. %s' % (inner(target), error))


def move(items):
    for item in items:
        source, target = resolved(item['src']), resolved(item['dest'])
        try:
            attempt('stat', source, os.stat, source)
        except FileNotFoundError as error:
            raise not_found(error, 'source path not found: %s: ' % item['src'])
        except OSError:
            pass  # the move itself will say it
        folder = os.path.dirname(target)
        try:
            attempt('mkdir', folder, os.makedirs, folder, 0o755, exist_ok=True)
        except OSError as error:
            raise not_found(error, 'failed to create destination directory: ')
        if os.path.exists(target):
            raise broken('error accessing file: destination path already exists: %s' % item['dest'])
        try:
            attempt('rename', source, os.rename, source, target)
        except OSError as error:
            raise not_found(error, 'failed to rename file: ')


def replace(items, verbose):
    counts = {}
    for path, item in items.items():
        target = resolved(path)
        try:
            file = attempt('open', target, os.open, target, os.O_RDWR | os.O_NONBLOCK)
            content = attempt('read', target, os.read, file, 0)
            while data := os.read(file, 1 << 20):
                content += data
        except OSError as error:
            raise not_found(error)
        old, new = item['old'].encode(), item['new'].encode()
        if not old:
            raise Refused(400, 'INVALID_REQUEST_BODY', 'old content must not be empty')
        counts[path] = {'replacedCount': content.count(old)}
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        send(content.replace(old, new), file)
        os.close(file)
    return counts if verbose else None


def remove_files(paths):
    for path in paths:
        target = resolved(path)
        try:
            if os.path.isdir(target):
                raise broken('error removing file %s. path is a directory: %s' % (path, path))
            attempt('remove', target, os.unlink, target)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise broken('error removing file %s. failed to remove file: %s' % (path, error))


def make_folders(items):
    for path, permission in items.items():
        target = resolved(path)
        try:
            attempt('mkdir', target, os.makedirs, target, 0o777, exist_ok=True)
            permit(target, permission)
        except OSError as error:
            raise not_found(error)
        except ValueError as error:
            raise broken('error accessing file: %s' % error)


def remove_folders(paths):
    for path in paths:
        target = resolved(path)
        try:
            remove = shutil.rmtree if os.path.isdir(target) and not os.path.islink(target) else os.unlink
            attempt('unlinkat', target, remove, target)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise broken('error removing directory %s. %s' % (path, error))


OPERATIONS = {
    each.__name__: each
    for each in (info, search, list_folder, download, upload, permissions, move, replace, remove_files, make_folders,
                 remove_folders)
}


def operate():
    try:
        if refusal is not None:
            raise broken('error accessing the sandbox: ' + refusal)
        result = OPERATIONS[order['operation']](**order['arguments'])
    except Refused as refused:
        status, code, message = refused.args
        return send(json.dumps({'status': status, 'code': code, 'message': message}).encode() + b'\n')
    body = b'' if result is None else json.dumps(result, ensure_ascii=False, separators=(',', ':')).encode('utf-8', 'replace')
    send(json.dumps({'status': 200, 'length': len(body)}).encode() + b'\n')
    send(body)


child = 0
try:
    child = 0 if refusal is not None else fork_inside()
except OSError as error:
    refusal = described(error)
if child:
    os.waitpid(child, 0)
else:
    if sys.platform == 'linux':
        # It belongs to the sandbox's user now, who must not be able to speak for it.
        call('prctl', PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        operate()
    except BrokenPipeError:
        pass
`;
