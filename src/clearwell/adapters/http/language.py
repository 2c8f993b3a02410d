"""Chinese or English, as the caller prefers."""

from functools import lru_cache

from starlette.requests import HTTPConnection

from clearwell.messages import Language


def language_of(request: HTTPConnection) -> Language:
    return choose_language(request.headers.get("accept-language", ""))


@lru_cache(maxsize=256)
def choose_language(accepted: str) -> Language:
    """Return Chinese if ``Accept-Language`` prefers it to English, otherwise English."""
    best = {"zh": 0.0, "en": 0.0}
    first = ""
    for part in accepted.split(","):
        tag, _, parameters = part.partition(";")
        name = tag.strip().lower().partition("-")[0]
        quality = _quality(parameters)
        if name in best and quality > 0:
            first = first or name
            best[name] = max(best[name], quality)
    if best["zh"] == best["en"]:
        return "zh" if first == "zh" else "en"
    return "zh" if best["zh"] > best["en"] else "en"


def _quality(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        quality = float(value)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0
