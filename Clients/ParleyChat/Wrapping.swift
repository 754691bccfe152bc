/// Divides text into lines of a width, between words where it can.
///
/// - Returns: the range of each line, at least one. Spaces at which a line was divided hang over its end.
func lineRanges(of glyphs: [Glyph], width: Int) -> [Range<Int>] {
    var wrapping = Wrapping(width: max(1, width))
    for index in glyphs.indices { wrapping.add(glyphs[index], at: index, in: glyphs) }
    wrapping.lines.append(wrapping.start..<glyphs.count)
    return wrapping.lines
}

private struct Wrapping {
    let width: Int
    var lines: [Range<Int>] = []
    var start = 0
    /// Behind the last space of the line.
    private var wordStart = 0
    private var columns = 0

    init(width: Int) { self.width = width }

    mutating func add(_ glyph: Glyph, at index: Int, in glyphs: [Glyph]) {
        if glyph.isNewline {
            end(at: index, next: index + 1)
        } else if glyph.isSpace {
            columns += glyph.width
            wordStart = index + 1
        } else {
            if columns + glyph.width > width, index > start { divide(before: index, in: glyphs) }
            columns += glyph.width
        }
    }

    private mutating func divide(before index: Int, in glyphs: [Glyph]) {
        let end = wordStart > start ? wordStart : index
        self.end(at: end, next: end)
        columns = glyphs[end..<index].reduce(0) { $0 + $1.width }
    }

    private mutating func end(at end: Int, next: Int) {
        lines.append(start..<end)
        start = next
        wordStart = next
        columns = 0
    }
}

/// A text as lines of at most `width` columns.
func wrapped(_ text: String, width: Int) -> [String] {
    let glyphs = Glyph.glyphs(text)
    return lineRanges(of: glyphs, width: width).map { range in
        var line = glyphs[range]
        while let last = line.last, last.isSpace { line.removeLast() }
        return line.map(\.text).joined()
    }
}
