/** Isolation with nothing but util-linux: namespaces by `unshare`, and a root folder that a script builds. */

import { type Backend, ENTER, type Place } from './backend.js';
import {
  hostnameOf,
  INNER_ID,
  isolatedEnvironment,
  SHARED_ETC,
  TMP_SIZE_BYTES,
} from './isolated-environment.js';
import { NODE_BINARY, stage } from './staging.js';

/** SIOCSIFFLAGS with IFF_UP | IFF_RUNNING, for machines without iproute2. */
const LOOPBACK_UP = `python3 -S -E -c 'import fcntl,socket,struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 0x41))'`;

/**
 * First process of the sandbox. Arguments: folder, workspace, Node.js binary there and inside, host name, root of the
 * image (empty: the host's), entrypoint.
 * It builds the root, hides the old one, runs the entrypoint in one more user namespace (so that it has
 * no rights over the mounts and the network, nor over this process), and says how that ended.
 */
const FIRST_PROCESS = `
home=$1 files=$2 node=$3 inside=$4 name=$5 image=$6; shift 6
fail() { echo "cannot build the sandbox: $1" >&2; exit 97; }
readonly_bind() { mount --rbind -o ro,nosuid,nodev "$1" "$2" || fail "$1"; }
mount -t tmpfs -o mode=755,size=64m sandbox "$home/root" && cd "$home/root" || fail root
mkdir -p usr proc dev/shm dev/pts tmp run workspace etc old || fail folders
chmod 1777 dev/shm
for folder in bin sbin lib lib32 lib64; do
  if [ -L "$image/$folder" ]; then ln -s usr/$folder $folder
  elif [ -d "$image/$folder" ]; then mkdir $folder; readonly_bind "$image/$folder" $folder; fi
done
readonly_bind "$image/usr" usr
for device in null zero full random urandom tty; do
  : >dev/$device; mount --bind /dev/$device dev/$device || fail /dev/$device
done
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts && ln -s pts/ptmx dev/ptmx
for entry in ${SHARED_ETC.join(' ')}; do
  if [ -d "$image/etc/$entry" ]; then mkdir etc/$entry; readonly_bind "$image/etc/$entry" etc/$entry
  elif [ -e "$image/etc/$entry" ]; then : >etc/$entry; readonly_bind "$image/etc/$entry" etc/$entry; fi
done
cp "$home"/etc/* etc/ || fail /etc
if [ -n "$node" ]; then
  mkdir -p ".\${inside%/*}"; : >".$inside"; readonly_bind "$node" ".$inside"
fi
mount -t tmpfs -o mode=1777,size=${TMP_SIZE_BYTES} tmp tmp || fail /tmp
mount --bind "$files" workspace || fail /workspace
mount -t proc proc proc || fail /proc
echo 1 >proc/sys/user/max_user_namespaces
mount --bind -o ro proc/sys proc/sys || fail /proc/sys
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || ${LOOPBACK_UP} || fail loopback
hostname "$name" 2>/dev/null
pivot_root . old && umount -l old && rmdir old && cd /workspace || fail pivot_root
exec 6>&2 2>/dev/null # what this shell says of its child's end is not the agent's
unshare -U --map-user=${INNER_ID} --map-group=${INNER_ID} -- \\
  setpriv --no-new-privs -- /bin/sh -c '${ENTER}' sh "$@" 2>&6 6>&-
code=$?
echo "exit $code" >&3
exit $code`;

export const unshare: Backend = {
  name: 'unshare',
  isolated: true,
  environment: isolatedEnvironment,
  command(place: Place, entrypoint: readonly string[]): string[] {
    const { home, workspace, node, imageRoot, command } = stage(place);
    return [
      ...command,
      ...['unshare', '-U', '--map-root-user', '-m', '-p', '-f', '--kill-child', '-n', '-i', '-u', '-C'],
      ...['--propagation', 'private', '--', '/bin/sh', '-c', FIRST_PROCESS, 'sh'],
      ...[home, workspace, node ?? '', NODE_BINARY ?? '', hostnameOf(place.id), imageRoot, ...entrypoint],
    ];
  },
};
