"""Thumbhash, straight from its description (https://evanw.github.io/thumbhash): slow, and independent."""

from math import cos, floor, pi


def encode(width: int, height: int, rgba: bytes) -> bytes:
    pixels = [tuple(value / 255 for value in rgba[start : start + 4]) for start in range(0, len(rgba), 4)]
    weight = sum(a for *_, a in pixels)
    mean = [sum(pixel[c] * pixel[3] for pixel in pixels) / (weight or 1) for c in range(3)]
    over = [[mean[c] * (1 - pixel[3]) + pixel[c] * pixel[3] for c in range(3)] for pixel in pixels]
    has_alpha = any(a < 1 for *_, a in pixels)
    limit = 5 if has_alpha else 7
    lx = max(1, rounded(limit * width / max(width, height)))
    ly = max(1, rounded(limit * height / max(width, height)))

    def channel(values: list[float], nx: int, ny: int) -> tuple[float, list[float], float]:
        terms = []
        for cy in range(ny):
            for cx in range(nx):
                if cx * ny >= nx * (ny - cy):
                    break
                total = sum(
                    values[x + y * width] * cos(pi / width * cx * (x + 0.5)) * cos(pi / height * cy * (y + 0.5))
                    for y in range(height)
                    for x in range(width)
                )
                terms.append(total / (width * height))
        scale = max(map(abs, terms[1:]))
        return terms[0], [0.5 + 0.5 / scale * term if scale else term for term in terms[1:]], scale

    l_dc, l_ac, l_scale = channel([sum(p) / 3 for p in over], max(3, lx), max(3, ly))
    p_dc, p_ac, p_scale = channel([(r + g) / 2 - b for r, g, b in over], 3, 3)
    q_dc, q_ac, q_scale = channel([r - g for r, g, _ in over], 3, 3)
    landscape = width > height
    first = rounded(63 * l_dc) | rounded(31.5 + 31.5 * p_dc) << 6 | rounded(31.5 + 31.5 * q_dc) << 12
    first |= rounded(31 * l_scale) << 18 | has_alpha << 23
    second = (ly if landscape else lx) | rounded(63 * p_scale) << 3 | rounded(63 * q_scale) << 9 | landscape << 15
    encoded = first.to_bytes(3, "little") + second.to_bytes(2, "little")
    factors = l_ac + p_ac + q_ac
    if has_alpha:
        a_dc, a_ac, a_scale = channel([a for *_, a in pixels], 5, 5)
        encoded += bytes([rounded(15 * a_dc) | rounded(15 * a_scale) << 4])
        factors += a_ac
    nibbles = [rounded(15 * factor) for factor in factors] + [0] * (len(factors) % 2)
    return encoded + bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))


def rounded(number: float) -> int:
    return floor(number + 0.5)
