"""The facts that policies are told (models/policy.hpp, "Facts"), one type each. Times are in ns."""

from gangway._core import Activity, Arrived, Drained, Exited, Left, Moved, Opens, Overdue, Sampled, Started, Submitted, Timer

__all__ = ['Activity', 'Arrived', 'Drained', 'Exited', 'Left', 'Moved', 'Opens', 'Overdue', 'Sampled', 'Started', 'Submitted', 'Timer']
