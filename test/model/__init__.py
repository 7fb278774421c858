"""A second implementation of the rules in Python: data, steps, viral thresholds, milestones, events and statistics.

An independent reading of the rules: it shares no code with the service and is compared with what the service answers.
state.py takes import lines, steps.py applies readings, answers.py says what each endpoint must answer.
"""
from .answers import Answers, Refused
from .state import Model
from .values import iso, ms

__all__ = ["Answers", "Model", "Refused", "iso", "ms"]
