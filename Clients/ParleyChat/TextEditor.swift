/// A text that is being written.
struct TextEditor: Equatable {
    private(set) var text = ""
    /// In characters, from 0 to their count.
    private(set) var cursor = 0

    init(_ text: String = "") { replace(with: text) }

    var isEmpty: Bool { text.isEmpty }

    mutating func replace(with text: String) {
        self.text = text
        cursor = text.count
    }

    /// - Parameter limit: of the whole text in bytes; what does not fit is left out.
    mutating func insert(_ new: String, limit: Int) {
        var room = limit - text.utf8.count
        let fitting = new.prefix { character in
            room -= character.utf8.count
            return room >= 0
        }
        let (before, after) = parts
        let front = before + fitting
        text = String(front + after)
        // What was inserted may have joined the character before it.
        cursor = front.count
    }

    mutating func deleteBackward() { remove(max(0, cursor - 1)..<cursor) }
    mutating func deleteForward() { remove(cursor..<min(text.count, cursor + 1)) }
    mutating func deleteWord() { remove(wordStart..<cursor) }
    mutating func deleteToStart() { remove(lineStart..<cursor) }
    mutating func deleteToEnd() { remove(cursor..<lineEnd) }

    mutating func moveLeft() { cursor = max(0, cursor - 1) }
    mutating func moveRight() { cursor = min(text.count, cursor + 1) }
    mutating func moveWordLeft() { cursor = wordStart }
    mutating func moveWordRight() { cursor = wordEnd }
    mutating func moveToStart() { cursor = lineStart }
    mutating func moveToEnd() { cursor = lineEnd }

    private var parts: (before: Substring, after: Substring) {
        let index = text.index(text.startIndex, offsetBy: cursor)
        return (text[..<index], text[index...])
    }

    private mutating func remove(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        let first = text.index(text.startIndex, offsetBy: range.lowerBound)
        let last = text.index(first, offsetBy: range.count)
        let front = text[..<first]
        cursor = front.count
        text = String(front + text[last...])
    }

    private var wordStart: Int {
        let before = parts.before
        let word = before.reversed().drop { !$0.isWordPart }.drop { $0.isWordPart }
        return word.count
    }

    private var wordEnd: Int {
        let rest = parts.after.drop { !$0.isWordPart }.drop { $0.isWordPart }
        return text.count - rest.count
    }

    private var lineStart: Int {
        let before = parts.before
        return before.lastIndex(where: \.isNewline).map { before[...$0].count } ?? 0
    }

    private var lineEnd: Int {
        let after = parts.after
        return cursor + (after.firstIndex(where: \.isNewline).map { after[..<$0].count } ?? after.count)
    }

    // MARK: Lines

    /// The text as lines of a width, and where the cursor is in them.
    struct Layout: Equatable {
        var lines: [String]
        var cursor: Frame.Position
        fileprivate var ranges: [Range<Int>]
    }

    func layout(width: Int) -> Layout {
        // Each character has its place, also one that shows nothing.
        let glyphs = text.map { Glyph($0) ?? Glyph(" ")! }
        let ranges = lineRanges(of: glyphs, width: width)
        let row = ranges.lastIndex { $0.lowerBound <= cursor } ?? 0
        let column = glyphs[ranges[row].lowerBound..<max(ranges[row].lowerBound, min(cursor, glyphs.count))]
            .reduce(0) { $0 + $1.width }
        return Layout(
            lines: ranges.map { glyphs[$0].map(\.text).joined() },
            cursor: Frame.Position(column: min(column, max(0, width - 1)), row: row), ranges: ranges)
    }

    /// Moves the cursor a line up or down; false if there is none.
    mutating func moveLine(by offset: Int, width: Int) -> Bool {
        let layout = layout(width: width)
        let row = layout.cursor.row + offset
        guard layout.ranges.indices.contains(row) else { return false }
        let column = cursor - layout.ranges[layout.cursor.row].lowerBound
        let range = layout.ranges[row]
        let isLast = row == layout.ranges.count - 1
        cursor = min(range.lowerBound + column, isLast ? range.upperBound : max(range.lowerBound, range.upperBound - 1))
        return true
    }
}

extension Character {
    fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" }
}
