"""What a training script in PyTorch adds to its own profiler, or uses in its place. Importing this does not import torch."""

from rankscope.torch._annotate import Annotations, annotate
from rankscope.torch._clock_check import ClockCheck, clock_check
from rankscope.torch._handler import StepProfile, trace_handler

__all__ = ["Annotations", "ClockCheck", "StepProfile", "annotate", "clock_check", "trace_handler"]
