"""A line plot as SVG: both axes from zero, labelled, one colour a line."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 20, 40, 60
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#9a6700")
Points = Sequence[tuple[float, float]]


def svg(title: str, x_label: str, y_label: str, lines: Mapping[str, Points]) -> str:
    most_x = _round_up(max(x for points in lines.values() for x, _ in points))
    most_y = _round_up(max(y for points in lines.values() for _, y in points))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="22" text-anchor="middle" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
        *_axes(most_x, most_y),
    ]
    for number, (name, points) in enumerate(lines.items()):
        parts += _line(name, points, most_x, most_y, number)
    return "\n".join([*parts, "</svg>", ""])


def _axes(most_x: float, most_y: float) -> list[str]:
    parts = []
    for step in range(6):
        x, y = _place(most_x * step / 5, most_y * step / 5, most_x, most_y)
        bottom, end = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts += [
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{end}" y2="{y:.1f}" stroke="#d0d7de"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{most_y * step / 5:,g}</text>',
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{most_x * step / 5:,g}</text>',
        ]
    return parts


def _line(name: str, points: Points, most_x: float, most_y: float, number: int) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    places = [_place(x, y, most_x, most_y) for x, y in sorted(points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        f'<text x="{LEFT + 12}" y="{TOP + 16 + 18 * number}" fill="{colour}">{escape(name)}</text>',
    ]


def _place(x: float, y: float, most_x: float, most_y: float) -> tuple[float, float]:
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    return LEFT + wide * x / most_x, HEIGHT - BOTTOM - high * y / most_y


def _round_up(value: float) -> float:
    """To the next 1, 2 or 5 with zeros, so that marks are round."""
    if value <= 0:
        return 1.0
    unit: float = 10.0 ** floor(log10(value))
    return next(step * unit for step in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if step * unit >= value - 1e-9 * ceil(value))
