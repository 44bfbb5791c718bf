# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, of nothing but text: bars for who takes how much, lines for how a cost grows. Scales are logarithmic, since
what is compared lies up to a factor of a thousand apart."""
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, TOP = 720, 110, 56
OURS, PEER = "#1f6f4a", "#9aa5b1"
LINES = ["#1f6f4a", "#c2410c", "#2563eb", "#7c3aed", "#64748b"]


def _text(x, y, text, anchor="start", size=13, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{escape(text)}</text>'


def _document(height, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                      f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" fill="#1f2933">',
                      f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *parts, "</svg>"]) + "\n"


def _short(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _log_scale(values, start, end):
    low, high = math.log10(min(values)), math.log10(max(values))
    low, high = math.floor(low * 2 - 0.2) / 2, math.ceil(high * 2 + 0.2) / 2
    return lambda value: start + (math.log10(value) - low) / (high - low) * (end - start), low, high


def _decades(low, high):
    return [10.0 ** exponent for exponent in range(math.ceil(low), math.floor(high) + 1)]


def bars(title, unit, values, marks):
    """`values`: (who, value), the first one ours; `marks`: (name, value), a line across each."""
    values = [(who, value) for who, value in values if value > 0]
    right = WIDTH - 90
    at, low, high = _log_scale([v for _, v in values] + [v for _, v in marks], LEFT, right)
    bottom = TOP + 30 * len(values) + 8
    parts = [_text(16, 26, f"{title}, {unit}", size=16)]
    for value in _decades(low, high):
        parts.append(f'<line x1="{at(value):.1f}" y1="{TOP}" x2="{at(value):.1f}" y2="{bottom}" stroke="#e4e7eb"/>')
        parts.append(_text(at(value), bottom + 18, _short(value), "middle", 11))
    for index, (who, value) in enumerate(values):
        y = TOP + 8 + 30 * index
        parts.append(_text(LEFT - 8, y + 15, who, "end"))
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{max(at(value) - LEFT, 1):.1f}" height="20" '
                     f'fill="{OURS if index == 0 else PEER}"/>')
        parts.append(_text(at(value) + 6, y + 15, _short(value)))
    for index, (name, value) in enumerate(marks):
        x = at(value)
        dash = "" if index == 0 else ' stroke-dasharray="4 3"'
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="#b91c1c"{dash}/>')
        # Away from the other mark's, which may be near.
        anchor = "end" if value == min(v for _, v in marks) and len(marks) > 1 else "start"
        parts.append(_text(x, TOP - 10, f"{name} {_short(value)}", anchor, 11, ' fill="#b91c1c"'))
    return _document(bottom + 32, parts)


def lines(title, unit, x_label, series):
    """`series`: {who: {x: value}}, the first one ours."""
    series = {who: points for who, points in series.items() if points}
    height, right, bottom = 420, WIDTH - 110, 360
    xs = sorted({x for points in series.values() for x in points})
    x_at, _, _ = _log_scale(xs, LEFT, right) if len(xs) > 1 else (lambda _: (LEFT + right) / 2, 0, 0)
    y_at, low, high = _log_scale([v for points in series.values() for v in points.values()], bottom, TOP)
    parts = [_text(16, 26, f"{title}, {unit}", size=16), _text((LEFT + right) / 2, height - 14, x_label, "middle")]
    for value in _decades(low, high):
        parts.append(f'<line x1="{LEFT}" y1="{y_at(value):.1f}" x2="{right}" y2="{y_at(value):.1f}" stroke="#e4e7eb"/>')
        parts.append(_text(LEFT - 8, y_at(value) + 4, _short(value), "end", 11))
    for x in xs:
        parts.append(_text(x_at(x), bottom + 18, str(x), "middle", 11))
    labels = []
    for index, (who, points) in enumerate(series.items()):
        colour = LINES[index % len(LINES)]
        where = [(x_at(x), y_at(points[x])) for x in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{3 if index == 0 else 1.5}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in where]
        labels.append([where[-1][1] + 4, who, colour, where[-1][0] + 8])
    labels.sort()
    for before, label in zip(labels, labels[1:]):
        label[0] = max(label[0], before[0] + 14)
    parts += [_text(x, y, who, extra=f' fill="{colour}"') for y, who, colour, x in labels]
    return _document(height, parts)
