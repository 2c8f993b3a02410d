"""Validate the schedule of digests: a cron line of five fields, and a time zone."""

from datetime import UTC, datetime

from croniter import CroniterBadDateError, CroniterError, croniter

from clearwell.errors import InvalidInput
from clearwell.flow.limits import require_unicode
from clearwell.settings import find_zone

CRON_LENGTH = 100
FIELDS = 5
EXAMPLE = "0 6 * * 1"
SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def require_cron(line: str, field: str = "digest_cron") -> str:
    """Return a cron line with single spaces. Raises InvalidInput if it is not valid or never due."""
    require_unicode(line, field)
    parts = line.split()
    problem = InvalidInput("cron_invalid", field=field, limit=EXAMPLE, cron=line[:CRON_LENGTH])
    if len(line) > CRON_LENGTH or len(parts) != FIELDS or "r" in parts[0].lower():
        raise problem
    tidy = " ".join(parts)
    try:
        croniter(tidy, SOME_DAY).get_next(datetime)
    except CroniterBadDateError as error:
        raise InvalidInput("cron_never", field=field, limit=EXAMPLE, cron=tidy) from error
    except (CroniterError, ValueError, KeyError) as error:
        raise problem from error
    return tidy


def require_zone(name: str, field: str = "digest_zone") -> str:
    """Return the IANA name of a time zone, such as Asia/Shanghai. Raises InvalidInput if it is unknown."""
    require_unicode(name, field)
    try:
        return find_zone(name).key
    except ValueError as error:
        raise InvalidInput("zone_unknown", field=field, limit="Asia/Shanghai", zone=name[:CRON_LENGTH]) from error
