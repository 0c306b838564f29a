"""Measure what a task really uses: processes, control group and GPUs.

`Sampler` measures the calling process; the command ``gpu-probe`` wraps any other.
Importing this package starts nothing.
"""

from probe._errors import ProbeError
from probe._sampler import Sampler

__all__ = ["ProbeError", "Sampler"]
