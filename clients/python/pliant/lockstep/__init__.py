"""Many worlds in lockstep, on one server or several."""

from pliant.lockstep.calls import WorldStep, call_worlds, plan_calls, step_worlds
from pliant.lockstep.group import Lockstep, Observation

__all__ = ["Lockstep", "Observation", "WorldStep", "call_worlds", "plan_calls", "step_worlds"]
