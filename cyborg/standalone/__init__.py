# SPDX-License-Identifier: Apache-2.0
"""A whole accelerator service in one process, for evaluation (BASE-3)."""
