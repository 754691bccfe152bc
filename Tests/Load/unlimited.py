"""A system that does not limit what one user asks for: a measurement has few users, who do the work of many."""

from system import System

LIMITS = ("PARLEY_RATE_PER_SECOND", "PARLEY_RATE_BURST", "PARLEY_USER_COST_IN_FLIGHT")


class UnlimitedSystem(System):
    @property
    def environment(self) -> dict[str, str]:
        unlimited = dict.fromkeys(LIMITS, "1000000") | {"PARLEY_USER_BYTES_IN_FLIGHT": str(64 << 20)}
        return super().environment | unlimited
