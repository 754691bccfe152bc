/// A piece of a message around its matches, with U+0002 before and U+0003 after every match.
///
/// These two characters mark nothing else: they are removed from the text itself. A client needs no escaping, and
/// message content cannot mislead it. "…" shows where the text was cut.
enum Snippet {
    static let matchStart: Unicode.Scalar = "\u{2}"
    static let matchEnd: Unicode.Scalar = "\u{3}"

    /// In grapheme clusters.
    private static let length = 160
    private static let lead = 40

    /// Makes the snippet. `matches` are ascending byte ranges of `text`. A mark never divides a grapheme cluster.
    static func make(_ text: String, matches: [Range<Int>]) -> String {
        let pieces = pieces(text, matches)
        let first = pieces.firstIndex(where: \.isMatch) ?? 0
        let start = pieces.count <= length ? 0 : beginning(before: first, in: pieces)
        let end = pieces.count <= length ? pieces.count : min(pieces.count, start + length)
        let shown = marked(pieces[start..<end])
        return (start > 0 ? "…" : "") + shown + (end < pieces.count ? "…" : "")
    }

    private struct Piece {
        let character: Character
        let isMatch: Bool
    }

    private static func pieces(_ text: String, _ matches: [Range<Int>]) -> [Piece] {
        var offset = 0
        var next = matches[...]
        return text.map { character in
            let range = offset..<(offset + character.utf8.count)
            offset = range.upperBound
            while let match = next.first, match.upperBound <= range.lowerBound { next.removeFirst() }
            return Piece(
                character: character,
                isMatch: next.prefix { $0.lowerBound < range.upperBound }.contains { $0.overlaps(range) })
        }
    }

    /// The start of the snippet: a little before the first match, after a space if there is one.
    private static func beginning(before first: Int, in pieces: [Piece]) -> Int {
        let start = max(0, min(first - lead, pieces.count - length))
        guard start > 0 else { return 0 }
        return pieces[start..<max(start, first)].firstIndex { $0.character.isWhitespace }.map { $0 + 1 } ?? start
    }

    private static func marked(_ pieces: ArraySlice<Piece>) -> String {
        var text = String.UnicodeScalarView()
        var isInside = false
        for piece in pieces {
            if piece.isMatch != isInside { text.append(isInside ? matchEnd : matchStart) }
            isInside = piece.isMatch
            text.append(contentsOf: piece.character.unicodeScalars.filter { $0 != matchStart && $0 != matchEnd })
        }
        if isInside { text.append(matchEnd) }
        return String(text)
    }
}
