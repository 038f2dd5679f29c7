# SPDX-License-Identifier: Apache-2.0
"""Every error a user, an operator or another service can cause.

A class has a template (``_msg_fmt``) and the HTTP status (``code``) that the
API answers with. The class *names* are part of the RPC contract: a conductor
sends the name and the arguments, and oslo.messaging builds the same class on
the caller's side, so a name is never reused for another meaning.
"""

from http import HTTPStatus
import logging

from cyborg.common.i18n import _
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)


class CyborgException(Exception):
    """Base of all errors of this service.

    :param message: the finished text; when absent, ``_msg_fmt`` is filled
        with ``kwargs``. A given text is never formatted, since it may come
        from another process and hold any ``%``.
    :param kwargs: values for the template. They travel over RPC, so they
        have to be plain values. ``code`` replaces the HTTP status.

    ``message`` keeps the text of this side: ``str()`` of an error that came
    over RPC also holds the remote traceback, which no client may see.
    """

    _msg_fmt = _('An unknown error occurred.')
    code = HTTPStatus.INTERNAL_SERVER_ERROR

    def __init__(self, message: str | None = None, **kwargs):
        self.kwargs = dict(kwargs)
        self.code = int(self.kwargs.setdefault('code', int(self.code)))
        if message is None:
            message = self._fill_in(kwargs)
        self.message = str(message)
        super().__init__(self.message)

    def _fill_in(self, values: dict) -> str:
        try:
            return self._msg_fmt % values
        except (KeyError, TypeError, ValueError):
            if CONF.fatal_exception_format_errors:
                raise
            # The original problem matters more than an incomplete text.
            LOG.exception('The template of %(name)s lacks values: %(fmt)s',
                          {'name': type(self).__name__,
                           'fmt': self._msg_fmt})
            return self._msg_fmt


def plain_text(error: BaseException) -> str:
    """The text of an error without anything a remote side appended.

    :returns: for our own errors the message alone, for others the first
        line of their text, or the class name when there is no text.
    """
    if isinstance(error, CyborgException):
        return error.message
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# Classes of answers


class Invalid(CyborgException):
    _msg_fmt = _('The given parameters cannot be accepted.')
    code = HTTPStatus.BAD_REQUEST


class NotAuthorized(CyborgException):
    _msg_fmt = _('This caller is not authorized.')
    code = HTTPStatus.FORBIDDEN


class Forbidden(CyborgException):
    _msg_fmt = _('This caller may not do this.')
    code = HTTPStatus.FORBIDDEN


class NotFound(CyborgException):
    _msg_fmt = _('The requested resource does not exist.')
    code = HTTPStatus.NOT_FOUND


class NotAcceptable(CyborgException):
    _msg_fmt = _('The requested API version does not offer this request.')
    code = HTTPStatus.NOT_ACCEPTABLE


class Conflict(CyborgException):
    _msg_fmt = _('The request conflicts with the present state.')
    code = HTTPStatus.CONFLICT


class ServiceUnavailable(CyborgException):
    _msg_fmt = _('The service cannot answer at the moment.')
    code = HTTPStatus.SERVICE_UNAVAILABLE


# Access


class HTTPForbidden(Forbidden):
    _msg_fmt = _('Access to %(resource)s was denied.')


class PolicyNotAuthorized(HTTPForbidden):
    _msg_fmt = _('Policy does not allow this caller to use %(resource)s.')


class ServiceTokenRequired(Forbidden):
    _msg_fmt = _('Only another service may do this: send the service token '
                 'of a user with one of the roles %(roles)s, or use the '
                 'Compute API to manage the accelerators of an instance.')


class ARQBoundToInstance(Forbidden):
    _msg_fmt = _('Accelerator request %(arq)s belongs to instance '
                 '%(instance)s: use the Compute API to detach it, or send a '
                 'service token.')


class ProjectRequired(Forbidden):
    _msg_fmt = _('This caller has no project: ask for a token that is scoped '
                 'to a project, or act as an administrator.')


# Requests


class InvalidParameterValue(Invalid):
    _msg_fmt = _('%(err)s')


class TextNotStorable(InvalidParameterValue):
    # Which text it was, the database does not tell.
    _msg_fmt = _('A text holds a character that the database cannot store '
                 'or compare. Leave out emoji and other characters beyond '
                 'U+FFFF.')


class MissingParameterValue(InvalidParameterValue):
    _msg_fmt = _('A required value is missing: %(err)s')


class InvalidUUID(Invalid):
    _msg_fmt = _('%(uuid)s is not a UUID.')


class InvalidType(Invalid):
    _msg_fmt = _('The value has the wrong type: %(obj)s should be '
                 '%(expected)s.')


class InvalidAPIResponse(Invalid):
    _msg_fmt = _('%(service)s gave an unusable answer to %(api)s: %(msg)s')


class ExpectedOneObject(Conflict):
    _msg_fmt = _('Exactly one %(obj)s was expected, but %(count)s match.')


class PatchError(Invalid):
    _msg_fmt = _('The patch cannot be applied: %(reason)s')


class ObjectActionError(Invalid):
    _msg_fmt = _('The action %(action)s on the object failed: %(reason)s')


class FileNotFound(NotFound):
    _msg_fmt = _('The file %(file)s does not exist.')


class ConfigInvalid(CyborgException):
    _msg_fmt = _('The configuration is not usable: %(error_msg)s')


class OptionInvalid(ConfigInvalid):
    _msg_fmt = _('[%(group)s] %(option)s = %(value)s in %(place)s is not '
                 'valid: %(reason)s.')


class TransportInvalid(ConfigInvalid):
    _msg_fmt = _('%(option)s of host %(host)s cannot be used: '
                 '%(reason)s. Write TRANSPORT://USER:PASSWORD@HOST:PORT/, '
                 'for example rabbit://openstack:PASSWORD@controller:5672/.')


class DatabaseUrlInvalid(ConfigInvalid):
    _msg_fmt = _('[database] connection of host %(host)s cannot be used: what '
                 'it has in the place of the port is no number. Write '
                 'DIALECT+DRIVER://USER:PASSWORD@HOST:PORT/NAME, and in the '
                 'password %%2F for "/", %%3A for ":" and %%40 for "@".')


# Objects that exist, or do not


class ResourceNotFound(NotFound):
    _msg_fmt = _('%(resource)s not found %(msg)s')


class InUse(Conflict):
    _msg_fmt = _('%(name)s is in use.')


class AttachHandleUUIDNeeded(Invalid):
    _msg_fmt = _('The uuid of an attach handle is needed.')


class DeviceProfileAlreadyExists(Conflict):
    _msg_fmt = _('A device profile with uuid %(uuid)s exists already.')


class ExtArqAlreadyExists(Conflict):
    _msg_fmt = _('An accelerator request with uuid %(uuid)s exists already.')


class AttributeAlreadyExists(Conflict):
    _msg_fmt = _('An attribute with uuid %(uuid)s exists already.')


class AttributeInvalid(Invalid):
    _msg_fmt = _('The attribute is not valid: it needs deployable_id, key '
                 'and value.')


class DuplicateDeviceProfileName(Conflict):
    _msg_fmt = _('A device profile named %(name)s exists already.')


class DeviceProfileInUse(InUse):
    _msg_fmt = _('Device profile %(name)s is used by %(count)s accelerator '
                 'request(s): delete those first.')


class DeviceProfileNameNeeded(Invalid):
    _msg_fmt = _('A device profile needs a name.')


class DeviceProfileGroupsExpected(Invalid):
    _msg_fmt = _('A device profile needs a list of groups.')


class ARQBadState(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s is in state %(state)s; this '
                 'needs one of the states %(expected)s.')


class BindWithdrawn(ARQBadState):
    _msg_fmt = _('Accelerator request %(uuid)s was not bound to instance '
                 '%(instance)s: it was released, or asked for by another '
                 'instance, after that was asked for.')


class AttachHandleTaken(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s was not bound: other requests '
                 'took the last attach handles of resource provider '
                 '%(rp_uuid)s on host %(host)s at the same moment. Choose '
                 'another device.')


class BindFailed(Conflict):
    _msg_fmt = _('No accelerator request of the set was bound, since '
                 '%(uuid)s could not be: %(reason)s')


class BindHostMismatch(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s asks for host %(host)s, but '
                 'resource provider %(rp_uuid)s belongs to host '
                 '%(actual_host)s. Give the provider of a device of that '
                 'host.')


class BindDeviceDisabled(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s was not bound: device '
                 '%(device)s of host %(host)s is disabled (status '
                 'maintaining). Enable the device, or bind to another.')


class BindDeviceMissing(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s was not bound: by the latest '
                 'report of host %(host)s device %(address)s of resource '
                 'provider %(rp_uuid)s %(reason)s. Bind to another device.')


class BindDeviceReplaced(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s was not bound: its device '
                 'profile asks for trait %(wanted)s, and device %(device)s of '
                 'host %(host)s (resource provider %(rp_uuid)s) has %(found)s '
                 'by now. It was replaced after it had been chosen. Bind to '
                 'another device.')


class BindFunctionShared(Conflict):
    _msg_fmt = _('Accelerator request %(uuid)s was not bound: PCI function '
                 '%(address)s of host %(host)s cannot be used while a guest '
                 'has %(other)s, which is the same piece of hardware. Bind '
                 'to another device, or release that one first.')


class BitstreamAmbiguous(Invalid):
    _msg_fmt = _('Group %(group)s of device profile %(profile)s has both '
                 'accel:bitstream_id and accel:function_id; accelerator '
                 'request %(uuid)s can be programmed with one only. Use a '
                 'profile that names one.')


class UnbindFailed(ServiceUnavailable):
    _msg_fmt = _('Accelerator request %(uuid)s keeps its device, since host '
                 '%(host)s did not release it: %(reason)s. Repeat the '
                 'request once that is settled.')


class AgentUnreachable(ServiceUnavailable):
    _msg_fmt = _('The agent of host %(host)s does not answer: %(reason)s. '
                 'Check that it runs, with [DEFAULT] host = %(host)s.')


class CallTooLate(ServiceUnavailable):
    _msg_fmt = _('Nothing was done: the call was to be carried out until '
                 '%(not_after)s, as long as its sender waits for the answer, '
                 'and on host %(host)s it is %(now)s. Try again. If that '
                 'does not help, the clocks of the two hosts differ: let NTP '
                 'set them.')


class ReportOutdated(Conflict):
    _msg_fmt = _('A newer report of host %(host)s has begun%(number)s, so '
                 'nothing more is done for this one. Two agents that report '
                 'under one host name do this to each other; else the next '
                 'report repairs what is left.')

    def _fill_in(self, values: dict) -> str:
        # Agents of 2026.2 give their reports no number.
        newest = values.get('newest')
        return super()._fill_in({**values, 'number': _(
            ' (number %s)') % newest if newest else ''})


class DeviceBusy(CyborgException):
    _msg_fmt = _('The device is busy: %(msg)s')


class DeviceNotDisabled(ServiceUnavailable):
    _msg_fmt = _('Device %(device)s of host %(host)s was not disabled, its '
                 'status stays %(status)s: %(reason)s. Some of its units may '
                 'be reserved already. Repeat the request when Placement '
                 'works; the log of the API service has the details.')


class DeviceNotOffered(ServiceUnavailable):
    _msg_fmt = _('Device %(device)s of host %(host)s has the status '
                 '%(status)s, but some of its units may still be reserved, '
                 'so that nothing new is placed on them: %(reason)s. Repeat '
                 'the request when Placement works; the log of the API '
                 'service has the details.')


class FPGAProgramError(CyborgException):
    _msg_fmt = _('The FPGA was not programmed: the driver answered %(ret)s.')


# Placement


class PlacementResourceProviderNotFound(NotFound):
    _msg_fmt = _('Placement has no resource provider %(resource_provider)s. '
                 'On a compute host the name must be that of the compute '
                 'node: see [agent] resource_provider_name.')


class PlacementServerError(CyborgException):
    _msg_fmt = _('Placement failed to answer: status %(status)s, '
                 'error %(error)s.')


class PlacementAPIConnectFailure(PlacementServerError):
    _msg_fmt = _('Placement cannot be reached: %(reason)s')


class PlacementUnauthorized(CyborgException):
    _msg_fmt = _('Placement does not accept the credentials of [placement] '
                 '(status %(status)s): %(reason)s. The user needs the admin '
                 'or service role; check auth_type, auth_url, username, '
                 'password and project there.')


class PlacementRequestRefused(CyborgException):
    _msg_fmt = _('Placement refused %(method)s %(url)s with status '
                 '%(status)s: %(reason)s')


class PlacementAPIConflict(Conflict):
    _msg_fmt = _('Placement refused the change because of a conflict: '
                 '%(reason)s')


class ResourceProviderUpdateConflict(PlacementAPIConflict):
    _msg_fmt = _('Resource provider %(uuid)s (generation %(generation)s) was '
                 'changed by someone else meanwhile: %(error)s')


class ResourceProviderInUse(Conflict):
    _msg_fmt = _('Resource provider %(uuid)s has allocations and was kept.')

    def __init__(self, message=None, **kwargs):
        kwargs.setdefault('uuid', _('(unnamed)'))
        super().__init__(message, **kwargs)


class ResourceProviderNameConflict(PlacementAPIConflict):
    _msg_fmt = _('Resource provider %(name)s exists in Placement with uuid '
                 '%(uuid)s and is not ours; device %(device)s of host '
                 '%(host)s is not offered. Take the device out of the other '
                 'service (for Nova: [pci] device_spec), or out of ours.')


class ResourceProviderNotOurs(PlacementAPIConflict):
    _msg_fmt = _('Resource provider %(uuid)s of device %(name)s exists in '
                 'Placement below %(parent)s instead of %(root)s, the '
                 'provider of host %(host)s; the device is not offered. '
                 'When nothing is allocated from it, delete it: openstack '
                 'resource provider delete %(uuid)s.')


class DeviceTraitInvalid(Invalid):
    _msg_fmt = _('Device %(name)s of host %(host)s is not offered: its trait '
                 '"%(trait)s" is neither a standard one that Placement knows '
                 'nor a custom one: CUSTOM_ followed by A-Z, 0-9 and _, at '
                 'most 255 characters. Correct what the driver or its '
                 'configuration gives.')


class DeviceResourceClassInvalid(Invalid):
    _msg_fmt = _('Device %(name)s of host %(host)s is not offered: its '
                 'resource class "%(resource_class)s" (attribute rc) is '
                 'neither a standard one that Placement knows nor a custom '
                 'one: CUSTOM_ followed by A-Z, 0-9 and _, at most 255 '
                 'characters. Correct what the driver or its configuration '
                 'gives.')


class InvalidResourceAmount(Invalid):
    _msg_fmt = _('%(amount)s is not an amount of %(resource_class)s.')


class InventoryInUse(Conflict):
    _msg_fmt = _('The inventory of %(resource_classes)s on resource provider '
                 '%(resource_provider)s is in use.')


# Other services


class GlanceConnectionFailed(ServiceUnavailable):
    _msg_fmt = _('The image service cannot be used on host %(host)s: '
                 '%(reason)s. Repeat the request when it works; the log of '
                 'that host has the details.')


class ImageUnacceptable(Invalid):
    _msg_fmt = _('Image %(image_id)s cannot be used: %(reason)s')


class ImageNotAuthorized(CyborgException):
    code = HTTPStatus.FORBIDDEN
    _msg_fmt = _('Image %(image_id)s may not be read with these '
                 'credentials.')


class ImageBadRequest(Invalid):
    _msg_fmt = _('The image service refused the request for %(image_id)s: '
                 '%(response)s')


# Drivers and the devices of a host


class InvalidDriver(Invalid):
    _msg_fmt = _('%(name)s in [agent] enabled_drivers of host %(host)s is '
                 'not a driver that is installed there. Correct the name, or '
                 'install the package that provides it. Installed: '
                 '%(installed)s.')

    def __init__(self, message=None, **kwargs):
        kwargs.setdefault('installed', _('unknown'))
        kwargs.setdefault('host', CONF.host)
        super().__init__(message, **kwargs)


class DriverNotShipped(InvalidDriver):
    _msg_fmt = _('The driver %(name)s in [agent] enabled_drivers of host '
                 '%(host)s came with the 2026.2 release and was dropped in '
                 '2027.1: it never reported a device that could be used, and '
                 'kept the devices of the other drivers from being reported. '
                 'Remove it from the list. %(instead)s. Installed: '
                 '%(installed)s.')


class DriverLoadFailed(CyborgException):
    _msg_fmt = _('The driver %(name)s of host %(host)s cannot be loaded: '
                 '%(reason)s')


class DriverDeviceInvalid(Invalid):
    _msg_fmt = _('%(reason)s')


class DeviceAttachInfoInvalid(Invalid):
    _msg_fmt = _('The attach info of PCI device %(address)s is not usable: '
                 '%(reason)s in %(text)s. Correct the driver that reports '
                 'it.')


class UnsafeDriverRefused(ConfigInvalid):
    _msg_fmt = _('The driver %(name)s of host %(host)s is deprecated and '
                 'does not clean devices between users, so it is refused. '
                 'Remove it from [agent] enabled_drivers or, when all users '
                 'of the devices trust each other, set [workarounds] '
                 'allow_unsafe_devices = true.')


class UnsafeDeviceRefused(ConfigInvalid):
    _msg_fmt = _('Device %(address)s of host %(host)s is selected for the '
                 'driver %(driver)s but has the PCI class %(pci_class)s '
                 '(%(class_name)s), which that driver cannot clean. Exclude '
                 'it with [pci] exclude_list = %(address)s, narrow [pci] '
                 'device_spec or, when all users of the device trust each '
                 'other, set [workarounds] allow_unsafe_devices = true.')


class InvalidVGPUType(Invalid):
    _msg_fmt = _('%(name)s is not a vGPU type.')


class InvalidvGPUConfig(Invalid):
    _msg_fmt = _('The vGPU configuration is not valid: %(reason)s')


class DriverOptionInvalid(ConfigInvalid):
    _msg_fmt = _('[%(group)s] %(option)s of host %(host)s is not valid: '
                 '%(reason)s.')


class VGPUOptionInvalid(DriverOptionInvalid, InvalidvGPUConfig):
    pass


class PciDeviceNotFoundById(NotFound):
    _msg_fmt = _('This host has no PCI device %(id)s.')


class PciDeviceWrongAddressFormat(Invalid):
    _msg_fmt = _('%(address)s is not a PCI address: write '
                 'domain:bus:slot.function in hexadecimal, for example '
                 '0000:3b:00.0.')


class DriverAddressInvalid(DriverOptionInvalid, PciDeviceWrongAddressFormat):
    pass


class PciDeviceInvalidDeviceName(Invalid):
    _msg_fmt = _('An entry of [pci] device_spec has either devname or '
                 'address, never both.')


class PciConfigInvalidWhitelist(Invalid):
    """The name that 2026.2 raised; kept for out-of-tree drivers."""

    _msg_fmt = _('[pci] device_spec is not valid: %(reason)s')


class PciConfigInvalidDeviceSpec(PciConfigInvalidWhitelist, ConfigInvalid):
    _msg_fmt = _('[pci] device_spec of host %(host)s is not valid:\n'
                 '%(reason)s')


class PciConfigInvalidExcludeList(ConfigInvalid):
    _msg_fmt = _('[pci] exclude_list of host %(host)s is not valid: entry '
                 '%(position)s, "%(entry)s": %(reason)s. Each entry is one '
                 'complete address, domain:bus:slot.function, for example '
                 '0000:3b:00.0.')


class MdevFailed(CyborgException):
    _msg_fmt = _('Mediated device %(uuid)s (%(action)s, parent %(parent)s of '
                 'host %(host)s): %(reason)s')


class PrivilegedHelperFailed(CyborgException):
    _msg_fmt = _('The privileged helper of host %(host)s does not work: '
                 '%(reason)s. It is started by [%(section)s] helper_command, '
                 'which is "sudo privsep-helper" unless set; try that as the '
                 'user of the service.')


class ControlPathInvalid(Invalid):
    _msg_fmt = _('The control path %(info)s of a device of host %(host)s is '
                 'no PCI address: it needs domain, bus, device and function '
                 'as hexadecimal text. Nothing was programmed.')


class ProgrammingToolFailed(CyborgException):
    _msg_fmt = _('%(tool)s cannot be started on host %(host)s: %(reason)s. '
                 "Install the vendor's tools there.")


class DriverCannotProgram(Invalid):
    _msg_fmt = _('No driver of host %(host)s programs devices of '
                 '%(driver_name)s. [agent] enabled_drivers has: %(enabled)s.')


# Indirection, reconciliation


class UpgradeLevelInvalid(ConfigInvalid):
    _msg_fmt = _('[upgrade_levels] %(service)s = %(value)s is neither a '
                 'version of the form MAJOR.MINOR nor a known release '
                 '(%(known)s). Remove the option when every %(service)s is '
                 'of this release.')


class ManagedModeUnsupported(ConfigInvalid):
    _msg_fmt = _('[pci] device_spec of host %(host)s sets "managed", and '
                 'managed-mode support needs conductor RPC version '
                 '%(needed)s, but [upgrade_levels] conductor caps it at '
                 '%(cap)s. Upgrade every conductor, then remove the cap.')


class HostNameChanged(ConfigInvalid):
    _msg_fmt = _('Host %(host)s has devices stored under %(other)s, another '
                 'name of this machine: %(devices)s devices, %(allocated)s '
                 'of their attach handles allocated. To offer them once more '
                 'as %(host)s could give one device to two guests, so '
                 'this is refused. Either go back to the former name: '
                 '[agent] resource_provider_name = %(other)s. Or delete the '
                 'instances that have these devices, start the agent once '
                 'under the former name with [agent] enabled_drivers empty, '
                 'which removes what is stored, and then as %(host)s.')


class ManagedModeConflict(Conflict):
    _msg_fmt = _('Device %(address)s of host %(host)s is allocated with '
                 'managed=%(old)s (attach handle %(handle)s, accelerator '
                 'request %(arq)s), so the configured managed=%(new)s is '
                 'refused. Put %(old)s back into [pci] device_spec, or '
                 'delete the instance first.')


class AttachHandleChanged(Conflict):
    _msg_fmt = _('Attach handle %(uuid)s of host %(host)s is not what was '
                 'read before (%(reason)s); nothing was changed. Read it '
                 'again.')


class AttachInfoInvalid(CyborgException):
    _msg_fmt = _('The stored attach info of attach handle %(uuid)s on host '
                 '%(host)s is not usable: %(key)s is %(value)s: %(reason)s. '
                 'Repair attach_handles.attach_info in the database.')


class DriverAttachInfoInvalid(CyborgException):
    _msg_fmt = _('Driver %(driver)s of host %(host)s gives PCI device '
                 '%(address)s attach info that is not usable: %(reason)s in '
                 '%(text)s. Nothing is reported. Correct the driver, or take '
                 'it out of [agent] enabled_drivers.')


class RemoteMethodRefused(Forbidden):
    _msg_fmt = _('%(objname)s.%(method)s may not be called from another '
                 'process.')


class RemoteArgumentsRefused(RemoteMethodRefused):
    _msg_fmt = _('%(objname)s.%(method)s cannot be called from another '
                 'process like this: %(reason)s.')


class StartupFailed(CyborgException):
    _msg_fmt = _('%(service)s on host %(host)s cannot start: %(reason)s')
