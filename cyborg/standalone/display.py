# SPDX-License-Identifier: Apache-2.0
"""What ``cyborg-standalone`` says once everything runs."""

from collections.abc import Iterator
from collections.abc import Sequence
import json

FAKE_DRIVER = 'fake_driver'
#: Columns of the table, by their headings in ``cyborg-pci list``.
_COLUMNS = ('Address', 'Ids', 'Class', 'Driver', 'Kind', 'NUMA', 'Verdict')


def devices(headings: Sequence[str], rows: Sequence[Sequence[str]], *,
            host: str, sysfs: str, offered: int, drivers: Sequence[str],
            example: str | None) -> Iterator[str]:
    """What the host has, and what of it is offered.

    :param rows: one a PCI device, cells under ``headings``.
    :param example: a rule that would offer one of them, where there is one.
    """
    yield 'PCI devices of host %s (%s):' % (host, sysfs)
    yield ''
    yield from table(headings, rows)
    yield ''
    yield '%d of %d offered.' % (offered, len(rows))
    if not offered:
        yield ('Nothing of a machine is handed out unasked.'
               + (' To offer a device, for example:' if example else ''))
        if example:
            yield "  --device-spec '%s'" % example
    if FAKE_DRIVER in drivers:
        yield ('The fake driver offers an FPGA with 16 regions to play '
               'with.')


def places(url: str, placement_url: str, state: str) -> Iterator[str]:
    yield 'Accelerator API  %s/v2' % url
    yield 'Placement        %s' % placement_url
    yield 'State and log    %s' % state


def usage(root: str, resource_class: str, bind: str | None
          ) -> Iterator[str]:
    """:param root: base URL without the mount point.

    :param bind: body of the request that binds, see :func:`bind_body`.
    """
    yield 'To paste into another terminal (needs python-openstackclient):'
    yield ''
    for line in commands(root, resource_class, bind):
        yield '  ' + line
    yield ''
    if bind:
        yield ('The bind is a request as Nova sends it, since the client '
               'looks up instances in Nova.')
    yield 'Ctrl-C ends it; the next start finds the same state.'


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]
          ) -> Iterator[str]:
    """The chosen columns, padded to the same width."""
    picked = [headings.index(name) for name in _COLUMNS]
    cells = [[row[index] for index in picked] for row in [headings, *rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(picked))]
    for row in cells:
        yield '  ' + '  '.join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()


def bind_body(host: str, provider: str, instance: str) -> str:
    """What is done to a request, as JSON, to bind it.

    :param provider: UUID of the device's resource provider.
    :param instance: UUID, of any instance.
    """
    return json.dumps([
        {'op': 'add', 'path': '/' + name, 'value': value}
        for name, value in (('hostname', host), ('device_rp_uuid', provider),
                            ('instance_uuid', instance))])


def commands(root: str, resource_class: str, bind: str | None) -> list[str]:
    """Lines that work as they stand, in this order, with a stock client."""
    client = ('openstack --os-auth-type none --os-endpoint %s accelerator '
              % root)
    request = '$(%s)' % (client + 'arq list -f value -c uuid | head -n 1')
    binding = [
        'curl -i --fail-with-body -X PATCH '
        '%s/accelerator/v2/accelerator_requests '
        "-H 'Content-Type: application/json' -d '{\"'%s'\": %s}'"
        % (root, request, bind),
        client + 'arq show ' + request,
        client + 'arq unbind ' + request,
    ] if bind else []
    return [
        client + 'device list',
        client + 'device profile create mine --group resources:%s=1'
        % resource_class,
        client + 'arq create mine',
        client + 'arq list',
        *binding,
        client + 'arq delete ' + request,
        client + 'device profile delete mine',
    ]
