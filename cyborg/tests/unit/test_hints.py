# SPDX-License-Identifier: Apache-2.0
"""HACKING's promise: public functions have type hints."""

import ast
import pathlib
import tomllib

import testtools

from cyborg.conf import default
from cyborg.tests import base

ROOT = pathlib.Path(default.PACKAGE_PARENT)
PROJECT = ROOT / 'pyproject.toml'


def _public(body: list[ast.stmt], of_class: bool = False):
    """Functions and methods; whether the first argument is ``self``."""
    for node in body:
        if getattr(node, 'name', '_').startswith('_'):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, True)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            alone = any(isinstance(each, ast.Name)
                        and each.id == 'staticmethod'
                        for each in node.decorator_list)
            yield node, of_class and not alone


def _unhinted(function: ast.FunctionDef, bound: bool) -> bool:
    given = function.args
    arguments = [*given.posonlyargs, *given.args][bound:]
    arguments += [*given.kwonlyargs, *filter(
        None, (given.vararg, given.kwarg))]
    return function.returns is None or any(
        each.annotation is None for each in arguments)


def unhinted(path: pathlib.Path) -> list[str]:
    """``FILE:LINE NAME`` of each public function without all its hints."""
    return ['%s:%d %s' % (path.relative_to(ROOT), function.lineno,
                          function.name)
            for function, bound in _public(ast.parse(path.read_text()).body)
            if _unhinted(function, bound)]


@testtools.skipUnless(PROJECT.exists(), 'only in a clone')
class HintsTest(base.TestCase):

    def test_public_functions_have_hints(self):
        packages = tomllib.loads(PROJECT.read_text())['tool']['mypy'][
            'packages']
        self.assertIn('cyborg.pci', packages)
        found = []
        for name in packages:
            for path in (ROOT / name.replace('.', '/')).rglob('*.py'):
                if 'alembic' not in path.parts:
                    found += unhinted(path)
        self.assertEqual([], sorted(found))

    def test_one_without_is_found(self):
        found = [_unhinted(*each) for each in _public(ast.parse(
            'def a(x: int) -> int: pass\n'
            'def b(x) -> int: pass\n'
            'def c(*, x: int): pass\n'
            'def _d(x): pass\n'
            'class E:\n'
            '    def f(self, x: int) -> int: pass\n'
            '    def g(self, **x) -> int: pass\n').body)]
        self.assertEqual([False, True, True, False, True], found)
