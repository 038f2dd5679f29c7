# SPDX-License-Identifier: Apache-2.0
"""Runs the files in ``gabbits``: the API's behaviour as a document."""

import os

from gabbi import driver

from cyborg.tests.functional.api import gabbi_fixtures


def load_tests(loader, tests, pattern):
    return driver.build_tests(
        os.path.join(os.path.dirname(__file__), 'gabbits'), loader,
        intercept=gabbi_fixtures.ServiceFixture.application,
        fixture_module=gabbi_fixtures,
        test_loader_name=__name__)
