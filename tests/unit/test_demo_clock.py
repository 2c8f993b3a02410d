"""When the meetings of the demo begin."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from clearwell.demo.clock import plan_meetings


@pytest.mark.parametrize("minute", range(0, 24 * 60, 10))
def test_each_meeting_is_on_a_day_of_its_own(minute: int) -> None:
    end = datetime(2026, 11, 20).astimezone() + timedelta(minutes=minute)
    begins = plan_meetings(end, 3)
    assert len({begin.astimezone().date() for begin in begins}) == 3
    assert all(later - earlier < timedelta(hours=24) for earlier, later in pairwise(begins))
    assert begins[-1] < end
