"""Axes, curves and legends as SVG, shared by the scripts that draw docs/images."""

import math
import pathlib

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images"
COLOURS = ["#3b6ea5", "#d1793b", "#5c9e5c", "#b04a4a", "#7d64a8", "#8a8a8a", "#c2a83e", "#4aa5a5"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520, 340, 64, 48, 30, 18


def svg(name, body, width=WIDTH, height=HEIGHT):
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'


def number(value):
    """Shortest form of a number: 1e-4 for 0.0001."""
    return f"{value:g}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


class Axes:
    """A frame with grid lines for the values `xs` and `ys`. `log`: True for two logarithmic axes, "y" for y alone."""

    def __init__(self, title, x_label, y_label, xs, ys, log=False):
        self.logs = (log is True, bool(log))
        self.x, self.y = self.extent(xs, self.logs[0]), self.extent(ys, self.logs[1])
        self.body = [text(WIDTH / 2, 18, title, extra='font-weight="bold"'), text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label),
                     text(0, 0, y_label, extra=f'transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'),
                     f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" fill="none" stroke="#999"/>']
        for value in self.ticks(self.x, self.logs[0]):
            x, _ = self.at(value, ys[0])
            self.body += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>',
                          text(x, HEIGHT - BOTTOM + 16, number(value))]
        for value in self.ticks(self.y, self.logs[1]):
            _, y = self.at(xs[0], value)
            self.body += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>',
                          text(LEFT - 6, y + 4, number(value), "end")]

    @staticmethod
    def extent(values, log):
        low, high = min(values), max(values)
        return (math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)) if log else (float(low), float(high))

    @staticmethod
    def ticks(extent, log):
        if log:
            every = -(-(extent[1] - extent[0]) // 8) or 1
            return [10.0 ** k for k in range(extent[0], extent[1] + 1, every)]
        raw = (extent[1] - extent[0]) / 5 or 1
        unit = 10 ** math.floor(math.log10(raw))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw)
        return [k * step for k in range(math.ceil(extent[0] / step - 1e-9), math.floor(extent[1] / step + 1e-9) + 1)]

    def at(self, x, y):
        share = lambda value, extent, log: ((math.log10(value) if log else value) - extent[0]) / ((extent[1] - extent[0]) or 1)
        return (LEFT + share(x, self.x, self.logs[0]) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - share(y, self.y, self.logs[1]) * (HEIGHT - TOP - BOTTOM))

    def line(self, points, colour, label=None, place=0, dash="", dots=True, faint=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*p) for p in points))
        self.body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{0.6 if faint else 1.6}" '
                         f'stroke-dasharray="{dash}"/>')
        if dots:
            self.body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in (self.at(*p) for p in points)]
        if label:
            y = TOP + 16 + 16 * place
            self.body += [f'<line x1="{LEFT + 10}" x2="{LEFT + 34}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2" '
                          f'stroke-dasharray="{dash}"/>', text(LEFT + 40, y, label, "start")]

    def save(self, name):
        svg(name, self.body)

    def band(self, points, colour):
        """Fills the area between lower and upper, given points (x, lower, upper)."""
        path = [self.at(x, low) for x, low, _ in points] + [self.at(x, high) for x, _, high in reversed(points)]
        self.body.append(f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in path)}" fill="{colour}" fill-opacity="0.2"/>')


def panels(name, axes, legend):
    """Draws axes side by side in one image, with a legend of (label, colour, dash) below."""
    width = WIDTH * len(axes)
    body = [f'<g transform="translate({WIDTH * k} 0)">\n' + "\n".join(a.body) + "\n</g>" for k, a in enumerate(axes)]
    spread = min(170, (width - LEFT) / max(len(legend), 1))
    for k, (label, colour, dash) in enumerate(legend):
        x, y = LEFT + spread * k, HEIGHT + 14
        body += [f'<line x1="{x:.0f}" x2="{x + 24:.0f}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>',
                 text(x + 30, y, label, "start")]
    svg(name, body, width, HEIGHT + 26)
