"""A second implementation of the rules in Python: data, steps, viral thresholds, milestones, events and statistics.

The model implements the rules independently: it shares no code with the service, and tests compare it with the
responses of the service. state.py imports lines, steps.py applies readings, responses.py computes the expected response
of each endpoint.
"""
from .responses import Rejected, Responses
from .state import Model
from .values import iso, ms

__all__ = ["Model", "Rejected", "Responses", "iso", "ms"]
