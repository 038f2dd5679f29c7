# SPDX-License-Identifier: Apache-2.0
"""Programs FPGAs of this host with bitstreams from the image service."""

from collections.abc import Sequence
import os
import tempfile
from typing import Any

from oslo_log import log as logging
from oslo_utils import uuidutils

from cyborg.agent import loading
from cyborg.common import context as cyborg_context
from cyborg.common import deadline
from cyborg.common import exception
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)


def driver_for(drivers: Sequence[loading.LoadedDriver],
               driver_name: str) -> Any:
    """The enabled driver that programs devices of ``driver_name``.

    Rows hold what a driver reports as its name: mostly its vendor, so the
    name of the entry point and the ``VENDOR`` of the class both count.

    :raises exception.DriverCannotProgram: there is none.
    """
    wanted = (driver_name or '').lower()
    for loaded in drivers:
        names = (loaded.name, str(getattr(loaded.driver, 'VENDOR', '')))
        if wanted in [name.lower() for name in names if name] and callable(
                getattr(loaded.driver, 'program', None)):
            return loaded.driver
    raise exception.DriverCannotProgram(
        host=CONF.host, driver_name=driver_name,
        enabled=', '.join(loaded.name for loaded in drivers) or 'none')


def program(drivers: Sequence[loading.LoadedDriver],
            context: cyborg_context.RequestContext, controlpath_id: dict,
            bitstream_uuid: str, driver_name: str) -> Any:
    """Fetch a bitstream and hand it to the driver.

    :param controlpath_id: a control path row, ``cpid_info`` decoded.
    :returns: what the driver answers; a true value means success.
    :raises exception.InvalidUUID: ``bitstream_uuid`` is none.
    :raises exception.CallTooLate: nobody waits for it; the device was not
        touched.
    :raises exception.CyborgException: no driver, or no usable image.
    """
    if not uuidutils.is_uuid_like(bitstream_uuid):
        # It becomes a part of a path of the image service.
        raise exception.InvalidUUID(uuid=bitstream_uuid)
    # Brings a library that few agents need and that takes long to import.
    from cyborg.agent import images
    driver = driver_for(drivers, driver_name)
    with tempfile.TemporaryDirectory(prefix='cyborg-') as folder:
        # The name is ours: that of an image is a user's text.
        path = os.path.join(folder, 'bitstream')
        images.download(context, bitstream_uuid, path)
        # It may have taken long, and another guest may have the device now.
        deadline.check(context)
        result = driver.program(controlpath_id, path)
    LOG.info('Device %s programmed with image %s by driver %s: %s',
             controlpath_id.get('cpid_info'), bitstream_uuid, driver_name,
             result)
    return result
