# SPDX-License-Identifier: Apache-2.0
"""What follows from what a host shows and what is stored of it.

``plan()`` does no I/O and changes nothing. The agent asks it which managed
modes may change, the conductor what to write, the preview what a restart
would do. Sources: specification, "Persisted state and reconciliation" and
"Startup and periodic reporting".
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import json

from cyborg.inventory import attach_info
from cyborg.inventory import attribute_bag
from cyborg.inventory import changes
from cyborg.inventory import identity
from cyborg.inventory import relatives
from cyborg.inventory import texts
from cyborg.inventory import values
from cyborg.pci import printable

#: Columns of ``devices`` that a report refreshes.
_COLUMNS = ('type', 'vendor', 'model', 'std_board_info', 'vendor_board_info')

#: What the database keeps as ``attach_handles.attach_type``.
_ATTACH_TYPES = ('PCI', 'MDEV', 'TEST_PCI')


def plan(discovered: Sequence[values.DiscoveredDevice],
         persisted: values.PersistedHost,
         held: Iterable[str] = ()) -> changes.Plan:
    """Compare a complete discovery of one host with its stored inventory.

    :param discovered: every device of every driver; a failed or partial
        discovery must not be passed (MIS-7).
    :param held: UUIDs of deployables whose inventory is held back because
        they were missing, where the caller knows them.
    """
    collector = _Collector(persisted.hostname, frozenset(held))
    usable = collector.sort_out(discovered)
    # What is stored and stays so has its place among its relatives.
    unstorable = {device.key: collector.unstorable[device.key]
                  for device in persisted.devices
                  if device.key in collector.unstorable
                  and device.key not in usable}
    found, faults = relatives.screened(relatives.with_stored_names(
        usable | unstorable, persisted), persisted)
    for fault in faults:
        collector.add('faults', fault)
    for pieces in relatives.shared(persisted):
        collector.add('shared', pieces)
    for device in _with_twins_last(persisted.devices):
        key = device.key
        match = found.pop(key, None) if key is not None else None
        if key in unstorable and (device.allocated or (
                match is not None and _same_for_a_guest(device, match))) or (
                match is None and key in collector.unclear
                and device.allocated):
            # It is there, and what is wrong with it was said: nothing of it
            # is changed, least of all is it taken for missing.
            continue
        if match is None or key in unstorable:
            collector.gone(device)
        elif match.stub:
            continue
        elif _another_device(device, match) and device.allocated:
            collector.replaced(device, match)
        else:
            collector.compare_device(device, match)
    for match in found.values():
        if not match.stub:
            collector.new_device(match)
    return collector.result()


def hardware(vendor: str, model: str, board: str | None) -> tuple[str, str]:
    """Vendor and product id in one letter case, whatever driver wrote them.

    The product id stands in the board information where there is one: the
    SSD drivers put a product's name into ``model``, which changes with the
    host's list of names while the device stays the same. The drivers for
    Intel's cards write ids with ``0x``, others without.
    """
    vendor = vendor.lower().removeprefix('0x')
    try:
        info = json.loads(board or '')
    except ValueError:
        info = None
    if isinstance(info, dict):
        product = info.get('product_id') or info.get('device_id')
        if isinstance(product, str):
            return vendor, product.lower().removeprefix('0x')
    return vendor, model.lower().removeprefix('0x')


def _hardware(device) -> tuple[str, str]:
    return hardware(device.vendor, device.model, device.std_board_info)


def is_other_hardware(change: changes.DeviceChange) -> bool:
    """Whether what a row becomes is another product."""
    device, new = change.device, dict(change.columns)
    return _hardware(device) != hardware(
        new.get('vendor') or device.vendor, new.get('model') or device.model,
        new.get('std_board_info', device.std_board_info))


def _another_device(stored, match) -> bool:
    return _hardware(stored) != _hardware(match)


def _same_for_a_guest(stored: values.PersistedDevice,
                      found: values.DiscoveredDevice) -> bool:
    """Whether a row that cannot be changed still says what one would get."""
    try:
        there = {handle.key: handle.info.settings.managed
                 for deployable in found.deployables
                 for handle in deployable.handles}
        known = {handle.key: handle.info.settings.managed
                 for deployable in stored.deployables
                 for handle in deployable.handles}
    except identity.InvalidInfo:
        return False
    return there == known and not _another_device(stored, found)


def _with_twins_last(devices):
    """Of two rows for one device the allocated, else the older, goes first.

    2026.2 could store a device twice; the second row finds its device taken
    and leaves as missing once it is free.
    """
    return sorted(devices, key=lambda d: (not d.allocated, d.id))


class _Collector:
    """Gathers consequences under the names of the plan's fields."""

    def __init__(self, hostname: str, held: frozenset[str]):
        self.hostname = hostname
        self.held = held
        self.discovered = 0
        #: keys of devices that were found, and have no clear meaning
        self.unclear: set[identity.Key | None] = set()
        #: of those that have one, in texts that no row can hold
        self.unstorable: dict[identity.Key | None,
                              values.DiscoveredDevice] = {}
        names = [field.name for field in dataclasses.fields(changes.Plan)]
        self._lists: dict[str, list] = {name: [] for name in names
                       if name not in ('hostname', 'discovered')}

    def add(self, name, record):
        self._lists[name].append(record)

    def result(self) -> changes.Plan:
        return changes.Plan(
            self.hostname, self.discovered,
            **{name: tuple(items) for name, items in self._lists.items()})

    def sort_out(self, discovered):
        """Usable devices by control path; faults for the others (B39)."""
        found = {}
        for device in discovered:
            key, broken = None, False
            try:
                key = device.key
                reason = texts.unstorable(device)
                _check_handles(device)
            except identity.InvalidInfo as error:
                broken = True
                reason = '%s in %s' % (error.reason,
                                       printable.one_line(error.text))
            if reason is not None:
                self.add('faults', changes.Fault(_label(device), reason))
                if broken:
                    self.unclear.add(key)
                else:
                    self.unstorable.setdefault(key, device)
                continue
            if key in found:
                self.add('faults', changes.Fault(
                    _label(device), 'reported more than once, the first '
                    'report of it counts'))
                continue
            found[key] = device
            self.discovered += not device.stub
        return found

    def new_device(self, device):
        """Offer it, unless an allocated row stands in its place.

        A row whose control path is damaged matches nothing; its deployable's
        name, which also names the provider, still tells whose place it is.
        """
        taken = {record.deployable.name for record in self._lists['retained']}
        names = [d.name for d in device.deployables if d.name in taken]
        if names:
            self.add('faults', changes.Fault(
                _label(device), 'an allocated device is kept under the name '
                '%s' % names[0]))
        else:
            self.add('new_devices', device)

    def gone(self, device, replaced_by=None):
        if not device.allocated:
            self.add('removed_devices', device)
            return
        for deployable in device.deployables:
            self._lost(device, deployable, replaced_by)

    def replaced(self, device, match):
        self.gone(device, replaced_by='%s:%s' % _hardware(match))

    def _lost(self, device, deployable, replaced_by=None):
        if deployable.allocated:
            self.add('retained', changes.Retained(
                device, deployable,
                tuple(h for h in deployable.handles if h.allocated),
                whole=True, replaced_by=replaced_by))
        else:
            self.add('removed_deployables',
                     changes.RemovedDeployable(device, deployable))

    def compare_device(self, device, match):
        if device.allocated:
            match = dataclasses.replace(
                match, std_board_info=relatives.with_parent_of(
                    match.std_board_info, device.std_board_info))
        columns = tuple(
            (name, getattr(match, name)) for name in _COLUMNS
            if getattr(match, name) != getattr(device, name))
        if columns:
            self.add('device_changes', changes.DeviceChange(device, columns))
        found = {d.name: d for d in reversed(match.deployables)}
        for deployable in sorted(device.deployables,
                                 key=lambda d: (not d.allocated, d.id)):
            now = found.pop(deployable.name, None)
            if now is None:
                self._lost(device, deployable)
            else:
                self._compare_deployable(device, deployable, now)
        for now in match.deployables:
            if found.pop(now.name, None):
                self.add('new_deployables',
                         changes.NewDeployable(device, now))

    def _compare_deployable(self, device, deployable, now):
        self.add('present', (device, deployable, now))
        if now.num_accelerators != deployable.num_accelerators:
            self.add('deployable_changes', changes.DeployableChange(
                device, deployable, now.num_accelerators))
        self._compare_attributes(device, deployable, now)
        missing = self._compare_handles(device, deployable, now)
        if missing:
            self.add('retained', changes.Retained(
                device, deployable, tuple(missing), whole=False))
        elif deployable.uuid in self.held:
            self.add('returned', deployable)

    def _compare_attributes(self, device, deployable, now):
        change = attribute_bag.difference(
            [(row.key, row.value) for row in deployable.attributes],
            now.attributes)
        if change is not None:
            rows = deployable.attributes
            self.add('attribute_changes', changes.AttributeChange(
                device, deployable, change.added,
                tuple((rows[place], value)
                      for place, value in change.changed),
                tuple(rows[place] for place in change.removed)))

    def _compare_handles(self, device, deployable, now):
        """Compare handles by identity; the allocated missing ones."""
        fresh = {h.key: h for h in reversed(now.handles)}
        missing, unknown = [], False
        for handle in sorted(deployable.handles,
                             key=lambda h: (not h.allocated, h.id)):
            try:
                key = handle.key
                handle.info.settings  # noqa: B018 - raises when damaged
            except identity.InvalidInfo as error:
                self.add('damaged', changes.Damage(
                    device, deployable, handle, error.reason))
                damaged_key = _key_of_damaged(handle)
                unknown |= damaged_key is None
                fresh.pop(damaged_key, None)
                continue
            match = fresh.pop(key, None)
            if match is not None:
                self._compare_handle(device, deployable, handle, match)
            elif handle.allocated:
                missing.append(handle)
            else:
                self.add('removed_handles', changes.RemovedHandle(
                    device, deployable, handle))
        if unknown:
            # One of the found handles may be the unreadable row's; offering
            # it a second time is worse than offering too little.
            return missing
        for handle in now.handles:
            if fresh.pop(handle.key, None):
                self.add('new_handles', changes.NewHandle(
                    device, deployable, handle))
        return missing

    def _compare_handle(self, device, deployable, handle, match):
        stored, wanted = handle.info, match.info
        allocated = handle.allocated
        text = stored.merged(wanted, take_managed=False,
                             take_others=not allocated)
        kind = handle.attach_type if allocated else match.attach_type
        if text != stored.text or kind != handle.attach_type:
            self.add('handle_updates', changes.HandleUpdate(
                device, deployable, handle, kind, text))
        if allocated and (kind != match.attach_type
                          or stored.others != wanted.others):
            self.add('deferred', changes.HandleUpdate(
                device, deployable, handle, match.attach_type, wanted.text))
        old, new = stored.settings.managed, wanted.settings.managed
        if old != new:
            self.add('refused' if allocated else 'managed_changes',
                     changes.ManagedChange(
                self.hostname, device, deployable, handle, old, new,
                stored.merged(wanted, take_managed=True,
                              take_others=not allocated)))


def _check_handles(device):
    """:raises identity.InvalidInfo: naming the first unusable handle."""
    for deployable in device.deployables:
        for handle in deployable.handles:
            if handle.attach_type not in _ATTACH_TYPES:
                # SQLite would take it, and not read it again.
                raise identity.InvalidInfo(
                    handle.attach_info, 'unknown attach type "%s"'
                    % handle.attach_type)
            handle.key  # noqa: B018 - raises for an unusable one
            handle.info.settings  # noqa: B018 - the same
            if len(handle.attach_info) > attach_info.MAX_LENGTH:
                raise identity.InvalidInfo(
                    handle.attach_info, 'attach info is longer than the %d '
                    'characters the database keeps' % attach_info.MAX_LENGTH)


def _label(device) -> str:
    try:
        return str(device.key[1])
    except (identity.InvalidInfo, TypeError):
        return printable.one_line(device.cpid_info)


def _key_of_damaged(handle):
    """Address of a row with damaged settings: it still takes its place."""
    try:
        return handle.key
    except identity.InvalidInfo:
        return None
