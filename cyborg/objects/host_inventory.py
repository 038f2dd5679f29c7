# SPDX-License-Identifier: Apache-2.0
"""All that the database holds of one host, as one object."""

from cyborg.common import context as cyborg_context
from cyborg.objects import attach_handle
from cyborg.objects import attribute
from cyborg.objects import base
from cyborg.objects import controlpath_id
from cyborg.objects import deployable
from cyborg.objects import device
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class HostInventory(base.CyborgObject):
    """Flat lists, each in the order of row ids, read in one transaction.

    Handles and deployables have their ``arq_uuids``.
    ``cyborg.objects.inventory_values`` turns it into nested values.
    """

    # 1.0: get_by_host
    # 1.1: get_names
    # 1.2: AttachHandleList 1.1
    # 1.3: get_last_machine
    VERSION = '1.3'

    fields = {
        'hostname': fields.StringField(),
        'devices': fields.ObjectField('DeviceList'),
        'controlpaths': fields.ObjectField('ControlpathIDList'),
        'deployables': fields.ObjectField('DeployableList'),
        'attributes': fields.ObjectField('AttributeList'),
        'attach_handles': fields.ObjectField('AttachHandleList'),
    }

    obj_relationships = {
        'devices': [('1.0', '1.0')],
        'controlpaths': [('1.0', '1.0')],
        'deployables': [('1.0', '1.0')],
        'attributes': [('1.0', '1.0')],
        'attach_handles': [('1.0', '1.0'), ('1.2', '1.1')],
    }

    @classmethod
    @base.remotable
    def get_by_host(cls, context: cyborg_context.RequestContext, hostname: str
                    ) -> 'HostInventory':
        """The inventory of a host; empty lists when nothing is known of it.

        One remote call, one transaction, a constant number of statements.

        For an agent that begins a report (``context.report``) it is noted
        that this is the newest one of its host.

        :raises exception.ReportOutdated: it is not.
        """
        from cyborg.db import host_inventory
        from cyborg.db import report_order
        if context.report is not None:
            report_order.begin(context, context.report.host)
        rows = host_inventory.rows(context, hostname)
        inventory = cls(
            context, hostname=hostname,
            devices=device.DeviceList.from_rows(context, rows.devices),
            controlpaths=controlpath_id.ControlpathIDList.from_rows(
                context, rows.controlpaths),
            deployables=deployable.DeployableList.from_rows(
                context, rows.deployables),
            attributes=attribute.AttributeList.from_rows(
                context, rows.attributes),
            attach_handles=attach_handle.AttachHandleList.from_rows(
                context, rows.attach_handles))
        inventory.obj_reset_changes()
        return inventory

    @classmethod
    @base.remotable
    def get_names(cls, context: cyborg_context.RequestContext,
                  names: list[str]) -> dict[str, list[int]]:
        """Host names that have devices and are one of ``names``.

        :param names: compared without regard to letter case, on every
            database; one without a dot also finds its long forms.
        :returns: by name, exactly as stored, the number of its devices and
            of its allocated attach handles.
        """
        from cyborg.db import host_names
        return {each.name: [each.devices, each.allocated]
                for each in host_names.like(context, names)}

    @classmethod
    @base.remotable
    def get_last_machine(cls, context: cyborg_context.RequestContext,
                         hostname: str) -> list | None:
        """See :func:`cyborg.db.report_order.last_machine`."""
        from cyborg.db import report_order
        found = report_order.last_machine(context, hostname)
        return found and list(found)
