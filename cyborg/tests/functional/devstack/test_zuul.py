# SPDX-License-Identifier: Apache-2.0
"""CON-3: the jobs that Zuul reads at the root of the repository."""

import configparser
import pathlib
import re

import jsonschema
import yaml

from cyborg.tests import base

ROOT = pathlib.Path(__file__).parents[4]
#: Jobs of other repositories that these build on.
PARENTS = {'devstack-tempest', 'grenade', 'grenade-skip-level-always',
           'openstack-tox', 'openstack-tox-functional', 'openstack-tox-docs'}
TEXTS = {'type': 'array', 'items': {'type': 'string'}}
PROJECTS = {'type': 'array', 'items': {'anyOf': [
    {'type': 'string'},
    {'type': 'object', 'required': ['name'], 'additionalProperties': False,
     'properties': {'name': {'type': 'string'},
                    'override-checkout': {'type': 'string'}}}]}}
#: What of Zuul's schema for jobs and projects is used here; a misspelled key
#: is an error there, too.
JOB = {
    'type': 'object', 'required': ['name', 'parent', 'description'],
    'additionalProperties': False,
    'properties': {
        **dict.fromkeys(('name', 'parent', 'description', 'nodeset',
                         'override-checkout'), {'type': 'string'}),
        'abstract': {'type': 'boolean'}, 'voting': {'type': 'boolean'},
        'timeout': {'type': 'integer', 'minimum': 1},
        'required-projects': PROJECTS, 'irrelevant-files': TEXTS,
        'files': TEXTS, 'vars': {'type': 'object'}}}
PIPELINE = {'type': 'object', 'required': ['jobs'],
            'additionalProperties': False, 'properties': {'jobs': TEXTS}}
PROJECT = {'type': 'object', 'additionalProperties': False,
           'properties': {'queue': {'type': 'string'}, 'templates': TEXTS,
                          'check': PIPELINE, 'gate': PIPELINE}}
SCHEMA = {'type': 'array', 'items': {
    'type': 'object', 'minProperties': 1, 'maxProperties': 1,
    'additionalProperties': False,
    'properties': {'job': JOB, 'project': PROJECT}}}


class ZuulTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.items = yaml.safe_load((ROOT / '.zuul.yaml').read_text())
        self.jobs = {item['job']['name']: item['job']
                     for item in self.items if 'job' in item}
        (self.project,) = [item['project'] for item in self.items
                           if 'project' in item]

    def localrc(self, name: str) -> dict:
        """What a job puts into local.conf, with what it inherits."""
        job = self.jobs[name]
        found = self.localrc(job['parent']) if job['parent'] in self.jobs \
            else {}
        return {**found, **job['vars'].get('devstack_localrc', {})}

    def test_schema(self):
        jsonschema.Draft202012Validator(SCHEMA).validate(self.items)
        self.assertEqual([], list((ROOT / 'tempest_plugin').glob('.zuul*')))

    def test_names(self):
        """Each parent and each job that runs is one that exists."""
        known = set(self.jobs) | PARENTS
        self.assertEqual(set(), {job['parent'] for job in self.jobs.values()}
                         - known)
        for pipeline in ('check', 'gate'):
            jobs = self.project[pipeline]['jobs']
            self.assertEqual(set(), set(jobs) - known)
            self.assertEqual(len(jobs), len(set(jobs)))
            self.assertFalse(any(self.jobs[name].get('abstract')
                                 for name in jobs if name in self.jobs))

    def test_expressions(self):
        for job in self.jobs.values():
            for text in job.get('files', []) + job.get('irrelevant-files',
                                                       []):
                re.compile(text)

    def test_tox_environments(self):
        """Each environment that a job names is there."""
        tox = configparser.ConfigParser()
        tox.read(ROOT / 'tox.ini')
        for name, job in self.jobs.items():
            if job['parent'] == 'openstack-tox':
                self.assertIn('testenv:' + job['vars']['tox_envlist'],
                              tox.sections(), name)

    def test_managed_mode(self):
        """The UARTs keep their driver; rebinding them is for others."""
        settings = (ROOT / 'devstack' / 'settings').read_text()
        for name, job in self.jobs.items():
            localrc = self.localrc(name) if 'vars' in job else {}
            self.assertIsNot(True, localrc.get('PCI_SIM_CYBORG_MANAGED'))
            if '2026-2' not in name:
                for key in localrc:
                    if key.startswith(('PCI_SIM', 'ENABLE_PCI')):
                        self.assertIn(key + '=', settings)

    def test_scripts_that_jobs_run(self):
        """Tempest finds the plugin where the jobs say it is."""
        base_job = self.jobs['cyborg-tempest-base']
        for plugin in base_job['vars']['tempest_plugins']:
            folder = plugin.split('/', 1)[1]
            self.assertTrue((ROOT / folder / 'pyproject.toml').is_file())
