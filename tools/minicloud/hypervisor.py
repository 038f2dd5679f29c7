# SPDX-License-Identifier: Apache-2.0
"""The second compute host: libvirt and QEMU in namespaces of their own.

Their Debian packages are unpacked below the state directory and laid over
/usr, /etc and /var for them alone, so that nothing is installed on this
machine. The first process of their process namespace is a shell: with it
everything ends that libvirt has started. The guests run in QEMU's emulation.
Their made-up accelerators are seen by the agent only; libvirt, which looks
into the real sysfs, refuses to start a guest with one. A hook, which libvirt
calls with each guest before it starts it, notes what it was given.
"""

import os
import pathlib
import shutil
import sysconfig
import xml.etree.ElementTree as ElementTree

import settings
from settings import CloudError

PACKAGES = ('libvirt-daemon', 'libvirt-daemon-driver-qemu', 'libvirt-clients',
            'libvirt-dev', 'qemu-system-x86', 'qemu-utils', 'pkg-config',
            'gcc')
#: What is written there has to be seen by all processes.
COVERED = ('usr', 'etc', 'var', 'run')
# Arguments: folder of this host, name of the node, then a command.
ENTER = '''
set -e
host=$1; hostname "$2"; shift 2
mount -t overlay -o lowerdir=$host/root/usr:/usr overlay /usr
for name in etc var; do
    mount -t overlay -o "lowerdir=$host/root/$name:/$name,\
upperdir=$host/$name,workdir=$host/$name-work" overlay /$name
done
mount -t tmpfs tmpfs /run
mkdir /run/libvirt
trap 'kill $!' TERM
"$@" &
wait $! || true
wait
'''
HOOK = '''#!/bin/sh
# GUEST OPERATION ..., the guest's XML on standard input.
if [ "$2" = prepare ]; then cat > '%s'/"$(date +%%s%%N).xml"; fi
'''
#: What the installation of the packages would have made.
USER = 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin\n'
GROUP = 'libvirt-qemu:x:64055:\n'
# Root, without AppArmor, control groups, namespaces and udev.
QEMU = '''
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = [ ]
namespaces = [ ]
stdio_handler = "file"
remember_owner = 0
'''
DAEMON = '''
unix_sock_dir = "%s"
unix_sock_group = "root"
auth_unix_ro = "none"
auth_unix_rw = "none"
log_outputs = "2:file:%s"
'''


class Hypervisor:

    def __init__(self, cloud):
        self.cloud = cloud
        self.folder = cloud.state / 'host'
        self.root = self.folder / 'root'
        self.guests = self.folder / 'guests'
        self.socket = self.folder / 'socket'

    @staticmethod
    def missing() -> str:
        """Why it cannot be here, in words; empty if it can."""
        if os.geteuid():
            return 'it needs root'
        for name in ('apt-get', 'dpkg', 'unshare', 'nsenter', 'hostname'):
            if shutil.which(name) is None:
                return '%s is not installed' % name
        return ''

    def install(self) -> None:
        """Packages that this machine has not; libvirt's Python module."""
        state = str(self.cloud.state)
        if state.startswith(tuple('/%s/' % name for name in COVERED)):
            raise CloudError(
                'The host with libvirt cannot live in %s: set '
                'CYBORG_MINICLOUD to a directory outside of /usr, /etc, /var '
                'and /run, or use up --one-host.' % state)
        if len(str(self.socket)) > 80:
            raise CloudError('%s is too long for the path of a socket: set '
                             'CYBORG_MINICLOUD to a shorter one.' % state)
        stamp = self.folder / 'packages'
        if not stamp.exists() or stamp.read_text() != ' '.join(PACKAGES):
            print('minicloud: fetching libvirt and QEMU', flush=True)
            shutil.rmtree(self.folder, ignore_errors=True)
            self._fetch()
            stamp.write_text(' '.join(PACKAGES))
        self._python()

    def _fetch(self) -> None:
        archives = self.folder / 'archives'
        (archives / 'partial').mkdir(parents=True)
        for name in ('usr/lib', 'usr/bin', 'usr/sbin', 'etc', 'var'):
            (self.root / name).mkdir(parents=True)
        # As on a machine whose /usr is merged.
        for name in ('lib', 'bin', 'sbin'):
            (self.root / name).symlink_to('usr/' + name)
        packages = list(PACKAGES)
        header = pathlib.Path(sysconfig.get_path('include')) / 'Python.h'
        if not header.exists():
            packages.append('python3-dev')
        words = ('apt-get', '-y', '-qq', '-o', 'DPkg::Lock::Timeout=600',
                 '-o', 'Dir::Cache::archives=%s' % archives, 'install', '-d',
                 '--no-install-recommends', *packages)
        try:
            self.cloud.command(*words)
        except CloudError:
            # The lists of a fresh machine are old, or not there.
            self.cloud.command('apt-get', '-qq', 'update')
            self.cloud.command(*words)
        for archive in sorted(archives.glob('*.deb')):
            self.cloud.command(
                'sh', '-c', 'dpkg --fsys-tarfile "$1" | tar -x -C "$2" '
                '--keep-directory-symlink', 'sh', archive, self.root)
        shutil.rmtree(archives)

    def _python(self) -> None:
        try:
            self.cloud.command('python', '-c', 'import libvirt',
                               env=self.environment())
            return
        except CloudError:
            pass
        version = self._alone('libvirtd', '--version').split()[-1]
        self._alone('pip', 'install', '-q', 'libvirt-python==' + version)

    def environment(self) -> dict[str, str]:
        """For a look at libraries from outside of the namespaces."""
        return {**self.cloud.environment(), 'LD_LIBRARY_PATH': ':'.join(
            str(path.parent) for path in self.root.glob(
                'usr/lib/*/libvirt.so.0'))}

    def _alone(self, *words) -> str:
        """Run a command with the packages, without a daemon."""
        return self.cloud.command(
            'unshare', '-m', '--propagation', 'slave', 'sh', '-c',
            'mount -t overlay -o lowerdir=$1/usr:/usr overlay /usr && '
            'shift && exec "$@"', 'sh', self.root, *words)

    def start(self) -> None:
        for name in ('guests', 'socket', 'etc', 'etc-work', 'var',
                     'var-work'):
            (self.folder / name).mkdir(exist_ok=True)
        configuration = self.folder / 'etc' / 'libvirt'
        (configuration / 'hooks').mkdir(parents=True, exist_ok=True)
        (configuration / 'qemu.conf').write_text(QEMU)
        (configuration / 'libvirtd.conf').write_text(DAEMON % (
            self.socket, self.cloud.logs / 'libvirtd.log'))
        for name, line in (('passwd', USER), ('group', GROUP)):
            text = pathlib.Path('/etc', name).read_text()
            if 'libvirt-qemu:' not in text:
                (self.folder / 'etc' / name).write_text(text + line)
        hook = configuration / 'hooks' / 'qemu'
        hook.write_text(HOOK % self.guests)
        hook.chmod(0o755)
        self.cloud.start(
            'libvirtd', 'unshare', '--mount', '--uts', '--pid', '--fork',
            '--kill-child', '--mount-proc', '--propagation', 'slave', 'sh',
            '-c', ENTER, 'sh', self.folder, settings.LIBVIRT.node, 'libvirtd')
        self.cloud.wait('libvirtd', self._answers, 'libvirtd')

    def forget(self) -> None:
        """Remove what is not of the packages."""
        for name in ('guests', 'socket', 'etc', 'etc-work', 'var',
                     'var-work'):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            self.virsh('version')
            return True
        except CloudError:
            return False

    def inside(self, *words) -> list[str]:
        """The command to run in the namespaces of libvirt."""
        pid = self.cloud.pid('libvirtd')
        path = pathlib.Path('/proc/%s/task/%s/children' % (pid, pid))
        if pid is None or not path.read_text().split():
            raise CloudError('libvirtd does not run; see %s'
                             % self.cloud.logs)
        return ['nsenter', '-t', path.read_text().split()[0], '--mount',
                '--uts', '--pid', '--', *[str(word) for word in words]]

    def virsh(self, *words) -> str:
        return self.cloud.command(*self.inside(
            'virsh', '-q', '-c', 'qemu:///system?socket=%s' % (
                self.socket / 'libvirt-sock'), *words))

    def given(self, instance: str) -> list[ElementTree.Element]:
        """The PCI host devices of a guest, as libvirt was given them."""
        found = []
        for path in sorted(self.guests.glob('*.xml')):
            domain = ElementTree.parse(path).getroot()
            if domain.findtext('uuid') == instance:
                found = domain.findall("devices/hostdev[@type='pci']")
        return found
