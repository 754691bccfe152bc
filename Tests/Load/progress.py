"""How far a long measurement is, how long the rest will take, and a bound for its parts."""

import contextlib
import signal
import time


class Progress:
    """Parts with the time each is expected to take; what the ones before took corrects the estimate of the rest."""

    def __init__(self, expected: float):
        self.left = expected
        self.expected = 0.0
        self.started = time.monotonic()

    def begin(self, name: str, expected: float):
        self.part_expected, self.part_started = expected, time.monotonic()
        taken = time.monotonic() - self.started
        # A machine as fast as the one that was expected counts as a minute of experience.
        factor = (taken + 60) / (self.expected + 60)
        print(f"{clock(taken)}, {clock(self.left * factor)} left: {name}", end=" … ", flush=True)

    def end(self, result: str) -> float:
        """Returns how many seconds the part took."""
        self.left -= self.part_expected
        self.expected += self.part_expected
        taken = time.monotonic() - self.part_started
        print(f"{result} ({taken:.0f} s)", flush=True)
        return taken


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


@contextlib.contextmanager
def time_limit(seconds: float):
    """Raises TimeoutError in the body after so long."""

    def expired(*_):
        raise TimeoutError(f"not done within {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
