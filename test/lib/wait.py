"""Waiting for a condition, with a deadline. The tests in Python pause only here."""
import time

DEFAULT_SECONDS = 60.0      # reached only by a failure, so it costs nothing on a busy machine


class TimedOut(AssertionError):
    pass


def until(condition, what, seconds=DEFAULT_SECONDS, pause_most=0.05):
    """Calls condition() until its result is true and returns it; raises TimedOut after `seconds`."""
    deadline = time.monotonic() + seconds
    pause = 0.001
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimedOut(f"waited {seconds:g} s for {what}")
        time.sleep(pause)
        pause = min(pause * 2, pause_most)
