"""Tests of the crawler; they mirror the package."""

import os

# Small matrices gain nothing from a second thread, and several workers and services share few cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
