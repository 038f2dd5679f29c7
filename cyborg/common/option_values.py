# SPDX-License-Identifier: Apache-2.0
"""Option values of a wrong type, in an operator's words.

oslo.config looks at a value when it is first asked for, which may be long
after the operator has turned to something else, and then names neither the
group nor the value, and the place in the form of a Python object.
"""

from collections.abc import Iterator
import json
import re

from oslo_config import cfg
from oslo_config import types

from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import default
from cyborg.conf import opts

_MESSAGE = re.compile(r'Value for option .*? is not valid: (.*)', re.DOTALL)
#: Characters of a value that are shown.
_LONGEST = 80


def check(conf: cfg.ConfigOpts, *groups: str) -> None:
    """Read our options of ``[DEFAULT]`` and all options of some groups.

    :raises exception.OptionInvalid: the first that has the wrong type.
    """
    for error in errors(conf, *groups):
        raise error


def errors(conf: cfg.ConfigOpts, *groups: str
           ) -> Iterator[exception.OptionInvalid]:
    """What :func:`check` would raise, for every option."""
    names = [(None, option.dest) for option in default.service_opts]
    names += [(group, name) for group in groups for name in conf[group]]
    for group, name in names:
        try:
            value = getattr(conf[group] if group else conf, name)
        except cfg.Error as error:
            yield _explained(error, conf, group, name)
            continue
        option = _option(name, group) if value is None else None
        # To oslo.config an empty number is none, whatever the default is.
        if option is not None and option.default is not None and isinstance(
                option.type, types.Number):
            yield refused(conf, group or 'DEFAULT', name,
                          _expected(option.type))


def refused(conf: cfg.ConfigOpts, group: str, name: str,
            expected: str) -> exception.OptionInvalid:
    """The same error for a value of the right type that is of no use.

    :param expected: such as "an absolute path"
    """
    value, place = _as_written(conf, group, name, _option(name, group))
    return exception.OptionInvalid(
        group=group, option=name, value=value, place=place,
        reason=_('%s is expected') % expected)


def _explained(error: cfg.Error, conf: cfg.ConfigOpts, group: str | None,
               name: str) -> exception.OptionInvalid:
    option = _option(name, group)
    value, place = _as_written(conf, group, name, option)
    match = _MESSAGE.fullmatch(str(error))
    expected = _expected(option.type) if option else None
    return exception.OptionInvalid(
        group=group or 'DEFAULT', option=name, value=value, place=place,
        reason=_('%s is expected') % expected if expected
        else match.group(1) if match else str(error))


def _option(name: str, group: str | None) -> cfg.Opt | None:
    """One of ours; those of libraries are not known here."""
    for owner, options in opts.list_opts():
        if str(getattr(owner, 'name', owner)) == (group or 'DEFAULT'):
            for option in options:
                if option.dest == name:
                    return option
    return None


def _as_written(conf, group, name, option) -> tuple[str, str]:
    """The value as it stands there, and the file or variable it is in."""
    apart = cfg.ConfigOpts()
    apart.register_opt(cfg.StrOpt(
        name, deprecated_opts=option.deprecated_opts if option else None),
        group=group)
    arguments = ['--config-file=%s' % path for path in conf.config_file or ()]
    arguments += ['--config-dir=%s' % path for path in conf.config_dir or ()]
    try:
        apart(arguments, project='cyborg', default_config_files=[],
              default_config_dirs=[])
        value = apart[group][name] if group else apart[name]
        place = apart.get_location(name, group)
    except cfg.Error:
        return _('(unknown)'), _('the configuration')
    if value is None or place is None:  # given some other way
        return _('(unknown)'), _('the configuration')
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + '..."'
    return text, place.detail


def _expected(kind: object) -> str | None:
    """What values of a type look like; None for a type without a rule."""
    if isinstance(kind, types.Boolean):
        return _('true or false')
    if isinstance(kind, types.Number):
        noun = (_('a whole number') if isinstance(kind, types.Integer)
                else _('a number'))
        if kind.min is not None and kind.max is not None:
            return _('%(noun)s from %(min)s to %(max)s') % {
                'noun': noun, 'min': kind.min, 'max': kind.max}
        if kind.min is not None:
            return _('%(noun)s from %(min)s on') % {
                'noun': noun, 'min': kind.min}
        return noun
    if isinstance(kind, types.HostAddress):
        return _('a host name or an IP address')
    return None
