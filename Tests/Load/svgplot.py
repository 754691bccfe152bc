"""A small line plot as SVG: one logarithmic x axis, a linear axis at the left, a logarithmic one at the right."""

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 90, 80, 56, 40
NOTE = 16  # the height of a line of notes


@dataclass
class Series:
    name: str
    values: list[float]
    color: str


@dataclass
class Plot:
    title: str
    # Lines below the plot.
    notes: list[str]
    xs: list[float]
    left: list[Series]
    right: list[Series]

    def svg(self) -> str:
        height = HEIGHT + NOTE * len(self.notes) + 4
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif">',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            text(LEFT, 24, self.title, size=16),
            *(
                text(LEFT, HEIGHT + 6 + NOTE * number, note, size=11, color="#57606a")
                for number, note in enumerate(self.notes)
            ),
        ]
        top = nice(max(value for series in self.left for value in series.values) or 1)
        low, high = decades([value for series in self.right for value in series.values if value > 0] or [1])
        parts += self.x_axis() + self.left_axis(top) + self.right_axis(low, high) + self.legend()
        for series in self.left:
            parts += self.line(series, lambda value: y_of(value / top))
        for series in self.right:
            parts += self.line(series, lambda value: y_of(share(max(value, low), low, high)), dashed=True)
        return "\n".join(parts) + "\n</svg>\n"

    def x_of(self, x: float) -> float:
        """Logarithmic, with a place of its own for 0."""
        positive = sorted(value for value in self.xs if value > 0)
        first, last = positive[0], positive[-1]
        has_zero = min(self.xs) == 0
        start = 0.12 if has_zero else 0.0
        part = 0.0 if x == 0 else start + (1 - start) * (share(x, first, last) if last > first else 0.5)
        return LEFT + 10 + part * (WIDTH - LEFT - RIGHT - 20)

    def x_axis(self) -> list[str]:
        parts = [line(LEFT, y_of(0), WIDTH - RIGHT, y_of(0), "#24292f")]
        for x in self.xs:
            parts.append(line(self.x_of(x), y_of(0), self.x_of(x), y_of(0) + 5, "#24292f"))
            parts.append(text(self.x_of(x), y_of(0) + 20, short(x), anchor="middle"))
        return parts

    def left_axis(self, top: float) -> list[str]:
        parts = []
        for step in range(6):
            y = y_of(step / 5)
            parts.append(line(LEFT, y, WIDTH - RIGHT, y, "#d0d7de"))
            parts.append(text(LEFT - 8, y + 4, short(top * step / 5), anchor="end", color=self.left[0].color))
        return parts

    def right_axis(self, low: float, high: float) -> list[str]:
        count = round(math.log10(high / low))
        return [
            text(WIDTH - RIGHT + 8, y_of(step / count) + 4, f"{low * 10**step:g} ms", color="#57606a")
            for step in range(count + 1)
        ]

    def legend(self) -> list[str]:
        parts, x = [], LEFT
        for series in self.left + self.right:
            parts.append(line(x, 40, x + 20, 40, series.color, width=3))
            parts.append(text(x + 26, 44, series.name))
            x += 40 + 8 * len(series.name)
        return parts

    def line(self, series: Series, y, dashed: bool = False) -> list[str]:
        places = [(self.x_of(x), y(value)) for x, value in zip(self.xs, series.values, strict=True)]
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        return [f'<polyline points="{points}" fill="none" stroke="{series.color}" stroke-width="2"{dash}/>'] + [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{series.color}"/>' for px, py in places
        ]


def share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def y_of(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def nice(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value)


def decades(values: list[float]) -> tuple[float, float]:
    low = 10 ** math.floor(math.log10(min(values)))
    high = 10 ** math.ceil(math.log10(max(values)))
    return low, high if high > low else low * 10


def short(value: float) -> str:
    for limit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:g}"


def line(x1, y1, x2, y2, color, width=1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>'


def text(x, y, content, size=12, anchor="start", color="#24292f") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="{color}">{escape(content)}</text>'
