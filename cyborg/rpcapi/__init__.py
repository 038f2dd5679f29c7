# SPDX-License-Identifier: Apache-2.0
"""How other processes call a conductor or an agent, below both."""
