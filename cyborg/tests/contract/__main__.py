# SPDX-License-Identifier: Apache-2.0
"""Replay one stream against a running service.

    python -m cyborg.tests.contract --url http://127.0.0.1:6666 --stream m

The service has to be in the starting state of the stream; ``python -m
cyborg.tests.contract.serve --stream m`` runs one that is. Exit status 1 when
a record fails that no rule of ``exceptions.json`` covers.
"""

import argparse
import sys

from cyborg.api import microversions
from cyborg.tests import contract
from cyborg.tests.contract import replay


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--url', required=True)
    parser.add_argument('--stream', default='m', choices=list('monk'))
    parser.add_argument('--maximum', default=str(microversions.MAXIMUM),
                        help='newest microversion of the service')
    parser.add_argument('--records', nargs='+',
                        default=[str(contract.RECORDS)],
                        help='folders with records')
    parser.add_argument('--show-exceptions', action='store_true')
    args = parser.parse_args(argv)
    records = replay.load(args.stream, *args.records)
    counts = dict.fromkeys(('passed', 'failed', 'skipped', 'excepted'), 0)
    environment: dict[str, str] = {}
    send = replay.http_sender(args.url)

    def before(record):
        wanted = record.get('environment', {})
        environment['X-Test-Nova-Answer'] = wanted.get(
            'nova_external_events', '200')

    for result in contract.run(
            records, lambda method, path, headers, body: send(
                method, path, {**headers, **environment}, body),
            base_url=args.url, maximum=args.maximum, before=before,
            inventory=args.stream != 'k'):
        if result.rule is not None:
            counts['excepted'] += 1
            if args.show_exceptions:
                print('%s (%s)' % (result, result.rule.reason))
        elif result.failed:
            counts['failed'] += 1
            print(result)
        else:
            counts['passed' if result.outcome.ok else 'skipped'] += 1
    print(', '.join('%d %s' % (number, name)
                    for name, number in counts.items()))
    return 1 if counts['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
