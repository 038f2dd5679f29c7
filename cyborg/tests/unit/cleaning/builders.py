# SPDX-License-Identifier: Apache-2.0
"""Views, facts and entries, with what a test does not care about filled in."""

from cyborg.cleaning import decide
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.nvme import records as nvme_records

State, Step = states.State, decide.Step
ADDRESS, SERIAL, MODEL = '0000:81:00.0', 'SN1', 'Model 1'
NOW = 1_800_000_000.0


def view(**changes) -> records.View:
    return records.View(**{
        'provider': 'rp', 'name': 'compute-1_' + ADDRESS, 'generation': 7,
        'resource_class': 'CUSTOM_PCI', **changes})


def facts(**changes) -> nvme_records.Facts:
    return nvme_records.Facts(**{
        'address': ADDRESS, 'present': True, 'class_code': 0x010802,
        'serial': SERIAL, 'model': MODEL, **changes})


def host(displaced='', working=False, ours=False, selected=True,
         cyborg_rule='', **changes) -> records.Host:
    return records.Host(facts(**changes), selected, cyborg_rule, displaced,
                        working, ours)


def entry(state: State, **changes) -> records.Entry:
    return records.Entry(**{
        'serial': SERIAL, 'model': MODEL, 'address': ADDRESS, 'state': state,
        'generation': 7, 'provider': 'rp', 'since': NOW - 100,
        'clean': state is State.SEALED, **changes})


def decided(of_view, of_host=None, of_entry=None, unknown='hold', now=NOW,
            settle=10):
    return decide.decide(of_view, of_host or host(), of_entry,
                         records.Options(settle, unknown), now)
