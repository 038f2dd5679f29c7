# SPDX-License-Identifier: Apache-2.0
"""Marks the texts that operators and users read as translatable."""

import oslo_i18n

_translators = oslo_i18n.TranslatorFactory(domain='cyborg')

_ = _translators.primary
