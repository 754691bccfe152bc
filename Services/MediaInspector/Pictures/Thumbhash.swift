import Glibc

/// A picture in some 25 bytes, to be shown until its thumbnail is there: https://evanw.github.io/thumbhash.
///
/// The lowest frequencies of its cosine transform: of luminance, of yellow against blue, of red against green, and of
/// opacity where it has any.
struct Thumbhash {
    /// A larger picture gives the same and takes longer.
    static let largestSide = 100

    let bytes: [UInt8]

    /// Of red, green, blue and opacity of each pixel, row after row.
    init(width: Int, height: Int, rgba: [UInt8]) {
        let planes = Planes(rgba)
        let basis = Basis(width: width, height: height)
        let limit = planes.isOpaque ? 7.0 : 5.0
        let longer = Double(max(width, height))
        let columns = max(1, Int((limit * Double(width) / longer).rounded()))
        let rows = max(1, Int((limit * Double(height) / longer).rounded()))
        let luminance = Frequencies(planes.luminance, basis, max(3, columns), max(3, rows))
        let yellow = Frequencies(planes.yellow, basis, 3, 3)
        let red = Frequencies(planes.red, basis, 3, 3)
        let opacity = planes.isOpaque ? nil : Frequencies(planes.opacity, basis, 5, 5)
        let isWide = width > height
        let first =
            Self.step(luminance.constant, 63) | Self.step(0.5 + yellow.constant / 2, 63) << 6
            | Self.step(0.5 + red.constant / 2, 63) << 12 | Self.step(luminance.scale, 31) << 18
            | (planes.isOpaque ? 0 : 1 << 23)
        let second =
            (isWide ? rows : columns) | Self.step(yellow.scale, 63) << 3 | Self.step(red.scale, 63) << 9
            | (isWide ? 1 << 15 : 0)
        var bytes = [first, first >> 8, first >> 16, second, second >> 8].map { UInt8(truncatingIfNeeded: $0) }
        if let opacity { bytes.append(UInt8(Self.step(opacity.constant, 15) | Self.step(opacity.scale, 15) << 4)) }
        let nibbles = [luminance, yellow, red, opacity].compactMap { $0 }.flatMap(\.varying).map { Self.step($0, 15) }
        for start in stride(from: 0, to: nibbles.count, by: 2) {
            bytes.append(UInt8(nibbles[start] | (start + 1 < nibbles.count ? nibbles[start + 1] << 4 : 0)))
        }
        self.bytes = bytes
    }

    /// A part of 1 in so many steps.
    private static func step(_ part: Double, _ steps: Double) -> Int { Int((steps * part).rounded()) }
}

/// The pixels, laid over their average colour, in the colours of the hash.
private struct Planes {
    var luminance: [Double] = []
    var yellow: [Double] = []
    var red: [Double] = []
    var opacity: [Double] = []
    var isOpaque = true

    init(_ rgba: [UInt8]) {
        let average = Self.average(rgba)
        for start in stride(from: 0, to: rgba.count, by: 4) {
            let alpha = Double(rgba[start + 3]) / 255
            let colour = (0..<3).map { average[$0] * (1 - alpha) + alpha * Double(rgba[start + $0]) / 255 }
            luminance.append((colour[0] + colour[1] + colour[2]) / 3)
            yellow.append((colour[0] + colour[1]) / 2 - colour[2])
            red.append(colour[0] - colour[1])
            opacity.append(alpha)
            isOpaque = isOpaque && rgba[start + 3] == 255
        }
    }

    /// Each pixel weighs as much as it is opaque.
    private static func average(_ rgba: [UInt8]) -> [Double] {
        var sums = [0.0, 0, 0]
        var weight = 0.0
        for start in stride(from: 0, to: rgba.count, by: 4) {
            let alpha = Double(rgba[start + 3]) / 255
            for colour in 0..<3 { sums[colour] += alpha * Double(rgba[start + colour]) / 255 }
            weight += alpha
        }
        return weight > 0 ? sums.map { $0 / weight } : sums
    }
}

/// The cosines that the transform multiplies with.
private struct Basis {
    let width: Int
    let height: Int

    func across(_ frequency: Int) -> [Double] { Self.cosines(frequency, width) }
    func down(_ frequency: Int) -> [Double] { Self.cosines(frequency, height) }

    private static func cosines(_ frequency: Int, _ length: Int) -> [Double] {
        (0..<length).map { cos(Double.pi / Double(length) * Double(frequency) * (Double($0) + 0.5)) }
    }
}

private struct Frequencies {
    var constant = 0.0
    /// The largest of the others, which are given as parts of it, from 0 to 1.
    var scale = 0.0
    var varying: [Double] = []

    init(_ plane: [Double], _ basis: Basis, _ columns: Int, _ rows: Int) {
        for row in 0..<rows {
            let lines = Self.lines(plane, basis, weighted: basis.down(row))
            var column = 0
            // The triangle of the lower frequencies.
            while column * rows < columns * (rows - row) {
                let cosines = basis.across(column)
                let sum = zip(lines, cosines).reduce(0) { $0 + $1.0 * $1.1 } / Double(basis.width * basis.height)
                if row == 0 && column == 0 { constant = sum } else { varying.append(sum) }
                column += 1
            }
        }
        scale = varying.reduce(0) { max($0, abs($1)) }
        if scale > 0 { varying = varying.map { [scale] in 0.5 + 0.5 / scale * $0 } }
    }

    /// The rows added up, each with its weight.
    private static func lines(_ plane: [Double], _ basis: Basis, weighted weights: [Double]) -> [Double] {
        var sums = [Double](repeating: 0, count: basis.width)
        for row in 0..<basis.height {
            for column in 0..<basis.width { sums[column] += plane[row * basis.width + column] * weights[row] }
        }
        return sums
    }
}
