"""What a scenario of the mock driver truly holds, in exact rational arithmetic.

Written from the documentation alone (native/mock_nvml/README.md for what a scenario means,
docs/trace-format.md for what a figure means), without a line of the C code that it judges.
All times are seconds after the scenario's time 0.
"""

from oracle.memory import Memory, process_peak_bytes
from oracle.scenario import Scenario, ScenarioError, parse_scenario
from oracle.series import Series
from oracle.truth import Figures, Truth, truth_of
from oracle.utilization import Utilization, driver_samples
from oracle.window import Window

__all__ = [
    "Figures",
    "Memory",
    "Scenario",
    "ScenarioError",
    "Series",
    "Truth",
    "Utilization",
    "Window",
    "driver_samples",
    "parse_scenario",
    "process_peak_bytes",
    "truth_of",
]
