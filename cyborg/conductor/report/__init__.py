# SPDX-License-Identifier: Apache-2.0
"""One report of a host, from the RPC method to the last write.

To be read in this order: ``reporter`` (whose turn it is, and whether anything
is to be done at all), ``course`` (the stages of one report, as often as others
write meanwhile), ``stages`` (what one stage hands to the next), ``new_rows``,
``providers`` beside this package, ``old_rows``. What is told of it is made in
``notes`` and ``tally``; ``unbindable`` keeps binds off what is not there.
"""
