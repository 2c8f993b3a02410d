"""The icons of the console, as lines on a grid of 24."""

from functools import cache

from markupsafe import Markup

PATHS = {
    "well": "M5 7v7a7 7 0 0 0 14 0V7M5 13q3.5-2.5 7 0t7 0",
    "menu": "M4 7h16M4 12h16M4 17h16",
    "down": "m7 10 5 5 5-5",
    "close": "M6 6l12 12M18 6 6 18",
    "leave": "M10 4H5v16h5M14 8l4 4-4 4M8 12h10",
    "done": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM8 12.2l2.7 2.7L16 9.5",
    "warning": "M12 4 2.5 20h19ZM12 10v4M12 17.2v.1",
    "theme-auto": "M12 3a9 9 0 1 0 0 18V3Z M12 3a9 9 0 0 1 0 18",
    "theme-dark": "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z",
    "theme-light": "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19",
    "overview": "M4 20V10M10 20V4M16 20v-7M21 20H3",
    "review": "M4 5h16v11h-5l-3 4-3-4H4ZM8.5 10.5l2.5 2.5 4.5-4.5",
    "quarantine": "M4 8h16v12H4ZM7 8V4h10v4M9 13h6",
    "working": "M13 3 5 13.5h6L10 21l8.5-11H12Z",
    "memories": "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3ZM5 17a3 3 0 0 1 3-3h11",
    "playground": "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.5 15.5 21 21",
    "chat": "M4 5h12v8H9l-4 3v-3H4ZM9 16v1h6l4 3v-3h1V9h-1",
    "audit": "M12 3 5 6v6c0 4.5 3 7.5 7 9 4-1.5 7-4.5 7-9V6ZM9 12l2.2 2.2L15.5 10",
    "forget": "M5 7h14M10 4h4M7 7l1 13h8l1-13M10 11v5M14 11v5",
    "agents": "M9 4a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM3 20a6 6 0 0 1 12 0M16 5a3 3 0 0 1 0 6M17 14q4 1 4 6",
}


@cache
def icon(name: str) -> Markup:
    """An icon in the colour of the text around it. It is decoration: what it stands for is said beside it."""
    return Markup(
        '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="{}"/></svg>'
    ).format(PATHS[name])
