/// How text stands out.
struct Style: Hashable {
    enum Color: Int, CaseIterable { case plain, own, good, warning, bad, first, second, third, fourth }

    var color = Color.plain
    var isBold = false
    var isDim = false
    var isReverse = false

    static let plain = Style()
    static let bold = Style(isBold: true)
    static let dim = Style(isDim: true)
    static let own = Style(color: .own)
    static let bar = Style(isReverse: true)
    static let warning = Style(color: .warning)
    static let banner = Style(color: .warning, isBold: true, isReverse: true)
    static let bad = Style(color: .bad)
    static let good = Style(color: .good)

    var reversed: Style {
        var style = self
        style.isReverse.toggle()
        return style
    }
}

/// A line of the screen, in spans of one style. What it holds can be shown by any terminal.
struct Line: Equatable {
    struct Span: Equatable {
        var text: String
        var style: Style
    }

    private(set) var spans: [Span] = []
    private(set) var width = 0

    init() {}

    init(_ text: String, _ style: Style = .plain) { append(text, style) }

    var text: String { spans.map(\.text).joined() }

    mutating func append(_ text: String, _ style: Style = .plain) {
        if text.isPrintableASCII { return append(text, columns: text.utf8.count, style) }
        var shown = ""
        var columns = 0
        for character in text {
            guard let glyph = Glyph(character) else { continue }
            shown += glyph.isNewline ? " " : glyph.text
            columns += glyph.isNewline ? 1 : glyph.width
        }
        append(shown, columns: columns, style)
    }

    private mutating func append(_ text: String, columns: Int, _ style: Style) {
        width += columns
        if !text.isEmpty { spans.append(Span(text: text, style: style)) }
    }

    mutating func append(_ line: Line) {
        spans += line.spans
        width += line.width
    }

    mutating func pad(to width: Int, _ style: Style = .plain) {
        let columns = width - self.width
        if columns > 0 { append(String(repeating: " ", count: columns), columns: columns, style) }
    }

    /// The line with exactly this width: cut off with an ellipsis, or filled.
    func fitted(to width: Int, filling style: Style = .plain) -> Line {
        var line = self.width <= width ? self : cut(to: width)
        line.pad(to: width, style)
        return line
    }

    private func cut(to width: Int) -> Line {
        var line = Line()
        guard width > 0 else { return line }
        for span in spans {
            var part = ""
            var columns = line.width
            for character in span.text {
                let glyph = Glyph(character)?.width ?? 0
                guard columns + glyph < width else {
                    line.append(part + "…", span.style)
                    return line
                }
                part.append(character)
                columns += glyph
            }
            line.append(part, span.style)
        }
        return line
    }

    /// The line at the right edge.
    func trailing(in width: Int) -> Line {
        var line = Line()
        line.pad(to: width - self.width)
        line.append(self)
        return line
    }

    func centered(in width: Int) -> Line {
        var line = Line()
        line.pad(to: (width - self.width) / 2)
        line.append(self)
        return line
    }

    func styled(_ change: (Style) -> Style) -> Line {
        var line = self
        for index in line.spans.indices { line.spans[index].style = change(line.spans[index].style) }
        return line
    }

    /// `left` and `right` with space between them; `left` is cut off where both do not fit.
    static func between(_ left: Line, _ right: Line, width: Int, filling style: Style = .plain) -> Line {
        guard right.width < width else { return right.fitted(to: width, filling: style) }
        var line = left.fitted(to: width - right.width, filling: style)
        line.append(right)
        return line
    }
}

extension String {
    fileprivate var isPrintableASCII: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }
}

/// The size of a terminal.
struct Size: Equatable {
    var columns: Int
    var rows: Int
}

/// Everything that a terminal shows.
struct Frame: Equatable {
    var lines: [Line]
    /// Nil while nothing is written.
    var cursor: Position?

    struct Position: Equatable {
        var column: Int
        var row: Int
    }

    /// What is there to read, for tests.
    var text: [String] { lines.map(\.text) }
}
