# SPDX-License-Identifier: Apache-2.0
"""gunicorn for the accelerator API: gunicorn -c gunicorn.conf.py"""

bind = '0.0.0.0:6666'
wsgi_app = 'cyborg.wsgi.api:application'
worker_class = 'gthread'
workers = 4
threads = 8
# A bind waits for the conductor, which waits for Nova.
timeout = 120
