# SPDX-License-Identifier: Apache-2.0
"""Fetches bitstreams from the image service."""

from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading as ks_loading
from keystoneauth1 import token_endpoint
from openstack import connection
from openstack import exceptions as sdk_exc
from openstack.config import cloud_region
from oslo_log import log as logging
import tenacity

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import sdk
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)

GROUP = 'glance'
SERVICE_TYPE = 'image'
_CHUNK_BYTES = 64 * 1024


def download(context: cyborg_context.RequestContext, image_id: str, path: str
             ) -> None:
    """Write the data of an image to a file, its checksum verified.

    With credentials in ``[glance]`` the image is read with those, otherwise
    with the token and the catalog of the caller. Failures to connect are
    tried again ``[glance] num_retries`` times.

    :raises exception.GlanceConnectionFailed: no answer, no endpoint, or a
        status of 500 and above.
    :raises exception.ImageNotAuthorized: status 401 or 403.
    :raises exception.ImageUnacceptable: no such image, or damaged data.
    :raises exception.ImageBadRequest: any other refusal.
    """
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(
            exception.GlanceConnectionFailed),
        stop=tenacity.stop_after_attempt(CONF.glance.num_retries + 1),
        wait=tenacity.wait_exponential(max=30), reraise=True)
    try:
        attempts(_download, context, image_id, path)
    except exception.GlanceConnectionFailed as error:
        # Whoever asked is told no addresses within the cloud.
        LOG.warning('Image %(image)s cannot be fetched: %(reason)s',
                    {'image': image_id, 'reason': exception.plain_text(
                        error.__cause__ or error)})
        raise
    LOG.info('Image %s fetched', image_id)


def _download(context, image_id, path):
    try:
        answer = _images(context).download_image(
            image_id, output=path, chunk_size=_CHUNK_BYTES)
    except sdk_exc.HttpException as error:
        raise _refusal(image_id, error) from error
    except (sdk_exc.SDKException, sdk_exc.InvalidResponse) as error:
        raise exception.ImageUnacceptable(
            image_id=image_id, reason=exception.plain_text(error)) from error
    except (ks_exc.Unauthorized, ks_exc.AuthPluginException) as error:
        raise exception.ImageNotAuthorized(image_id=image_id) from error
    except ks_exc.ClientException as error:
        raise exception.GlanceConnectionFailed(
            host=CONF.host, reason='it does not answer') from error
    if answer.status_code != 200:
        # 204: the image exists, nobody uploaded its data yet.
        raise exception.ImageUnacceptable(
            image_id=image_id, reason='its data cannot be read: status %s'
            % answer.status_code)


def _images(context):
    if sdk.has_credentials(GROUP):
        auth = ks_loading.load_auth_from_conf_options(CONF, GROUP)
    else:
        # This plugin looks for no versions: the one we want is named.
        auth = token_endpoint.Token(
            _version_2(_endpoint(context)), context.auth_token)
    session = ks_loading.load_session_from_conf_options(
        CONF, GROUP, auth=auth)
    region = cloud_region.from_conf(
        CONF, session=session, service_types=[SERVICE_TYPE],
        app_name='cyborg')
    return connection.Connection(config=region).image


def _endpoint(context) -> str:
    """Of the caller's catalog, in the form Keystone or nova.conf has it."""
    if CONF.glance.endpoint_override:
        return CONF.glance.endpoint_override
    wanted = CONF.glance.valid_interfaces
    for entry in context.service_catalog:
        for endpoint in entry.get('endpoints', ()):
            for interface in wanted:
                if endpoint.get('interface') == interface:
                    return endpoint['url']
                if interface + 'URL' in endpoint:
                    return endpoint[interface + 'URL']
    raise exception.GlanceConnectionFailed(
        host=CONF.host, reason='neither [glance] nor the catalog of the '
        'request names an endpoint')


def _version_2(endpoint: str) -> str:
    endpoint = endpoint.rstrip('/')
    return endpoint if endpoint.endswith('/v2') else endpoint + '/v2'


def _refusal(image_id, error):
    status = error.status_code
    if status in (401, 403):
        return exception.ImageNotAuthorized(image_id=image_id)
    if status == 404:
        return exception.ImageUnacceptable(
            image_id=image_id, reason='there is no such image')
    if status is None or status >= 500:
        return exception.GlanceConnectionFailed(
            host=CONF.host, reason='it failed with status %s' % status)
    return exception.ImageBadRequest(
        image_id=image_id, response='status %s: %s' % (
            status, exception.plain_text(error)))
