# SPDX-License-Identifier: Apache-2.0
"""The privileged half of a process, for what sysfs alone does not give.

Discovery needs no privilege. Drivers that create mediated devices or program
devices mark those functions with ``@sys_admin_pctxt.entrypoint``; the
operator configures the helper in ``[cyborg_sys_admin]``.
"""

from oslo_config import cfg
from oslo_privsep import capabilities
from oslo_privsep import comm
from oslo_privsep import daemon
from oslo_privsep import priv_context

from cyborg.common import exception

#: What a call of a privileged function raises, besides an ``OSError``, when
#: its helper does not start, or does not answer.
HELPER_ERRORS = (daemon.FailedToDropPrivileges, comm.PrivsepTimeout)

sys_admin_pctxt = priv_context.PrivContext(
    'cyborg',
    cfg_section='cyborg_sys_admin',
    pypath=__name__ + '.sys_admin_pctxt',
    capabilities=[
        # Files of root below /sys, and the devices' own.
        capabilities.CAP_DAC_OVERRIDE,
        capabilities.CAP_DAC_READ_SEARCH,
        capabilities.CAP_CHOWN,
        capabilities.CAP_FOWNER,
        # Device administration in general; no narrower one covers it.
        capabilities.CAP_SYS_ADMIN,
    ])


def helper_failed(context: priv_context.PrivContext, error: Exception
                  ) -> exception.PrivilegedHelperFailed:
    """What to raise for one of :data:`HELPER_ERRORS`."""
    return exception.PrivilegedHelperFailed(
        host=cfg.CONF.host, section=context.cfg_section,
        reason=exception.plain_text(error))
