# SPDX-License-Identifier: Apache-2.0
"""The lab's machine: its root file system, kernel and modules.

Everything lies below one state directory, and QEMU is in the root file system
too. What is made again depends on what goes into it.
"""

import configparser
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = '3.13'

#: Debian packages of the virtual machine. QEMU comes from backports: older
#: ones have no SR-IOV for virtio-net.
PACKAGES = """
    linux-image-amd64 linux-headers-amd64 gcc make
    qemu-system-x86 libvirt-daemon libvirt-daemon-driver-qemu
    libvirt-daemon-driver-nodedev libvirt-clients python3-libvirt
    python3 python3-yaml systemd-container systemd-sysv libpam-systemd dbus
    pciutils kmod udev nvme-cli busybox-static iproute2 procps util-linux
    e2fsprogs zstd xz-utils cpio
""".split()
PINNED = """\
Package: src:qemu src:seabios
Pin: release n=trixie-backports
Pin-Priority: 900
"""
#: Modules that the initial file system of the machine and of its guest loads.
BOOT_MODULES = ('virtio_blk', 'ext4', '9p', '9pnet_virtio')
GUEST_MODULES = ('virtio_net', 'igbvf', 'nvme')

#: Python packages, without code for one machine, that are published as
#: source alone.
UNBUILT = ('simplegeneric',)

#: What packages need only with that Python, and pip, which judges by the one
#: that runs it, leaves out: WebOb has to have "cgi".
NEEDED = ('legacy-cgi',)

#: Gets one file of the source of a kernel; its version is the argument.
SAMPLE = """
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq update
apt-get -qq -o APT::Sandbox::User=root download "linux-source-$1"
dpkg-deb --fsys-tarfile linux-source-*.deb |
    tar -xO "./usr/src/linux-source-$1.tar.xz" |
    tar -xJO --occurrence=1 "linux-source-$1/samples/vfio-mdev/mtty.c" \
    > /usr/src/mtty.c
test -s /usr/src/mtty.c
"""


class LabError(Exception):
    """The lab cannot be built or started; the text says what to do."""


def call(*words, **kwargs) -> str:
    """Run a command of the build; its output is shown only if it fails."""
    done = subprocess.run([str(word) for word in words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **kwargs)
    if done.returncode:
        raise LabError('%s failed (%d):\n%s' % (
            ' '.join(str(word) for word in words[:4]), done.returncode,
            done.stdout[-4000:]))
    return done.stdout


class Image:
    """The state directory, and what is made in it.

    :ivar rootfs: root file system of the machine; QEMU runs from it too
    """

    def __init__(self, state: pathlib.Path):
        self.state = state
        self.rootfs = state / 'rootfs'
        self.image = state / 'root.img'
        self.initrd = state / 'initrd.gz'
        self.kernel = state / 'vmlinuz'

    def build(self) -> None:
        if os.geteuid():
            raise LabError('pcilab needs root, to mount and to make the root '
                           'file system')
        self.state.mkdir(parents=True, exist_ok=True)
        with open(self.state / 'lock', 'w') as lock:
            # Another run may build; it is done then.
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._steps()

    def _steps(self) -> None:
        self._step('packages', [*PACKAGES, PINNED], self._root_file_system,
                   'python', 'sample', 'image')
        self._step('python', [PYTHON, *self._requirements()],
                   self._python_packages, 'image')
        self._step('sample', [SAMPLE], self._sample_driver, 'image')
        inputs = [path.read_text() for path in sorted(
            [*(HERE / 'modules').iterdir(), *(HERE / 'boot').iterdir()])]
        self._step('image', [*inputs, *BOOT_MODULES, *GUEST_MODULES],
                   self._image)

    def _step(self, name: str, inputs: list[str], make,
              *after: str) -> None:
        """Do a step again only when something that goes into it changed.

        :param after: the steps that have to be done again then
        """
        wanted = hashlib.sha256('\0'.join(inputs).encode()).hexdigest()
        stamp = self.state / ('stamp-' + name)
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        for each in (name, *after):
            (self.state / ('stamp-' + each)).unlink(missing_ok=True)
        print('pcilab: making %s' % name, flush=True)
        started = time.monotonic()
        make()
        stamp.write_text(wanted)
        print('pcilab: %s made in %d s' % (name, time.monotonic() - started),
              flush=True)

    def _mirror(self) -> str:
        """The Debian mirror that this machine is set up with."""
        for path in sorted(pathlib.Path('/etc/apt/sources.list.d').glob(
                '*.sources')):
            for line in path.read_text().splitlines():
                if line.startswith('URIs:'):
                    return line.split()[1].rstrip('/')
        source = pathlib.Path('/etc/apt/sources.list')
        for line in source.read_text().splitlines() if source.exists() else ():
            words = line.split()
            if words[:1] == ['deb']:
                return next(word for word in words[1:]
                            if '://' in word).rstrip('/')
        return 'http://deb.debian.org/debian'

    def _root_file_system(self) -> None:
        if shutil.which('mmdebstrap') is None:
            environment = dict(os.environ, DEBIAN_FRONTEND='noninteractive')
            apt = ('apt-get', '-o', 'DPkg::Lock::Timeout=300', '-qq')
            call(*apt, 'update', env=environment)
            call(*apt, 'install', '-y', '--no-install-recommends',
                 'mmdebstrap', env=environment)
        shutil.rmtree(self.rootfs, ignore_errors=True)
        mirror = self._mirror()
        preferences = self.state / 'preferences'
        preferences.write_text(PINNED)
        left_out = [word for folder in ('doc', 'man', 'locale', 'info')
                    for word in ('--dpkgopt=path-exclude=/usr/share/%s/*'
                                 % folder,)]
        call('mmdebstrap', '--mode=root', '--variant=minbase',
             '--keyring=/usr/share/keyrings/debian-archive-keyring.gpg',
             '--aptopt=APT::Install-Recommends "false"',
             '--aptopt=Acquire::Languages "none"', *left_out,
             '--setup-hook=mkdir -p "$1/etc/apt/preferences.d" && cp %s '
             '"$1/etc/apt/preferences.d/lab"' % preferences,
             '--include=' + ','.join(PACKAGES), 'trixie', self.rootfs,
             'deb %s trixie main' % mirror,
             'deb %s trixie-updates main' % mirror,
             'deb %s trixie-backports main' % mirror)

    def _requirements(self) -> list[str]:
        setup = configparser.ConfigParser()
        setup.read(ROOT / 'setup.cfg')
        lines = (ROOT / 'requirements.txt').read_text().splitlines()
        lines += [*setup['extras']['standalone'].splitlines(), *NEEDED]
        return [line for line in lines if line and line[0] != '#']

    def _python_packages(self) -> None:
        site = self.rootfs / 'opt' / 'site'
        shutil.rmtree(site, ignore_errors=True)
        # The machine has another Python than this host and no network, so
        # packages for its Python are put there from outside.
        with tempfile.TemporaryDirectory() as folder:
            venv = pathlib.Path(folder) / 'venv'
            call(sys.executable, '-m', 'venv', venv)
            pip = (venv / 'bin' / 'pip', '--quiet',
                   '--disable-pip-version-check')
            call(*pip, 'wheel', '--no-deps', '--wheel-dir', folder, *UNBUILT)
            call(*pip, 'install', '--target', site, '--find-links', folder,
                 '--python-version', PYTHON, '--only-binary', ':all:',
                 '--platform', 'manylinux2014_x86_64',
                 '--platform', 'manylinux_2_28_x86_64',
                 *self._requirements())
        call('chroot', self.rootfs, 'python3', '-m', 'compileall', '-q',
             '/opt/site')

    def _sample_driver(self) -> None:
        """The kernel's own sample of a driver with mediated devices.

        No package has it built, and the one with its source is large.
        """
        call('chroot', self.rootfs, 'sh', '-ec', SAMPLE, '-',
             '.'.join(self._kernel_version().split('.')[:2]))

    def _kernel_version(self) -> str:
        (found,) = (self.rootfs / 'usr/lib/modules').glob('*-amd64')
        return found.name

    def _image(self) -> None:
        version = self._kernel_version()
        shutil.copy(self.rootfs / 'boot' / ('vmlinuz-' + version),
                    self.kernel)
        shutil.copy(HERE / 'boot' / 'machine', self.rootfs / 'lab-init')
        (self.rootfs / 'lab-init').chmod(0o755)
        self._kernel_modules(version)
        self._archive(HERE / 'boot' / 'initrd', BOOT_MODULES, version,
                      self.initrd)
        self._archive(HERE / 'boot' / 'guest', GUEST_MODULES, version,
                      self.rootfs / 'boot' / 'guest.gz')
        shutil.copy(self.kernel, self.rootfs / 'boot' / 'guest-vmlinuz')
        for name in ('lab', 'share'):
            (self.rootfs / 'mnt' / name).mkdir(exist_ok=True)
        (self.rootfs / 'lab').mkdir(exist_ok=True)
        self.image.unlink(missing_ok=True)
        with open(self.image, 'wb') as stream:
            stream.truncate(4 << 30)
        call('mke2fs', '-q', '-F', '-t', 'ext4', '-O', '^has_journal', '-E',
             'lazy_itable_init=1', '-d', self.rootfs, self.image)

    def _kernel_modules(self, version: str) -> None:
        """Drivers that no Debian kernel brings."""
        source = self.rootfs / 'usr/src/lab'
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(HERE / 'modules', source)
        shutil.copy(self.rootfs / 'usr/src/mtty.c', source)
        call('chroot', self.rootfs, 'make', '-s', '-C',
             '/usr/lib/modules/%s/build' % version, 'M=/usr/src/lab',
             'modules')
        target = self.rootfs / 'usr/lib/modules' / version / 'updates'
        target.mkdir(exist_ok=True)
        for module in source.glob('*.ko'):
            shutil.copy(module, target)
        call('chroot', self.rootfs, 'depmod', version)

    def _archive(self, init: pathlib.Path, modules, version: str,
                 target: pathlib.Path) -> None:
        """An initial file system: busybox, an init and some modules."""
        with tempfile.TemporaryDirectory(
                prefix='new-', dir=self.state) as folder:
            top = pathlib.Path(folder)
            for name in ('bin', 'mods', 'proc', 'sys', 'dev', 'root'):
                (top / name).mkdir()
            shutil.copy(self.rootfs / 'usr/bin/busybox', top / 'bin')
            order: list[str] = []
            for module in modules:
                for line in call('chroot', self.rootfs, 'modprobe', '-S',
                                 version, '--show-depends',
                                 module).splitlines():
                    words = line.split()
                    if words[:1] == ['insmod'] and words[1] not in order:
                        order.append(words[1])
            for path in order:
                source = self.rootfs / path.lstrip('/')
                name = source.name.removesuffix('.xz')
                data = source.read_bytes() if name == source.name else (
                    subprocess.run(['xz', '-dc', str(source)], check=True,
                                   stdout=subprocess.PIPE).stdout)
                (top / 'mods' / name).write_bytes(data)
            (top / 'mods' / 'order').write_text(''.join(
                pathlib.Path(path).name.removesuffix('.xz') + '\n'
                for path in order))
            shutil.copy(init, top / 'init')
            (top / 'init').chmod(0o755)
            call('sh', '-c', 'find . | "$1" cpio -o -H newc 2>/dev/null | '
                 'gzip -1 > "$2"', '-', self.rootfs / 'usr/bin/busybox',
                 target, cwd=top)
