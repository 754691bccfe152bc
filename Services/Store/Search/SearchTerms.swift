/// What a query looks for: all of its words. Its last one is also found at the beginning of longer words; a run of a
/// script without spaces is found anywhere.
///
/// Nothing in a query is an operator: only letters, digits and symbols reach the database, and those of ASCII that mean
/// something to it (`~ ' & | ! : * % _ \`) are in no word.
struct SearchTerms {
    /// How words are compared with those of a text.
    enum Mode {
        /// As words.
        case words
        /// As parts of words: for queries of which nothing is found as words.
        case parts
    }

    struct Term: Equatable {
        let kind: FoldedText.Kind
        let scalars: [UInt32]
        /// Whether it may be the beginning of a longer word.
        let isPrefix: Bool
        let text: String
    }

    /// Words and runs that are looked for; further ones are not.
    static let limit = 32
    /// A shorter part has no trigram to be found by.
    private static let shortestPart = 3

    let terms: [Term]

    init(_ query: String) {
        let folded = FoldedText(query)
        let words = folded.words.prefix(Self.limit)
        terms = words.enumerated().map { index, word in
            Term(
                kind: word.kind, scalars: Array(folded.scalars[word.range]),
                isPrefix: index == folded.words.count - 1 && word.kind == .word, text: folded.string(word.range))
        }
    }

    var isEmpty: Bool { terms.isEmpty }

    // MARK: For the database

    /// A `tsquery` in which `~` stands for the name of the block.
    var tsquery: String { terms.flatMap(lexemes).joined(separator: " & ") }

    private func lexemes(of term: Term) -> [String] {
        switch term.kind {
        case .word, .symbol: return ["'~\(term.text)'" + (term.isPrefix ? ":*" : "")]
        case .unspaced:
            let scalars = Array(term.text.unicodeScalars)
            // Alone it is the beginning of a pair, or the last of a run.
            guard scalars.count > 1 else { return ["'~\(term.text)':*"] }
            return zip(scalars, scalars.dropFirst()).map { "'~\($0)\($1)'" }
        }
    }

    /// `LIKE` patterns that hold in every text that is found, once it is without case and what counts for nothing.
    var patterns: [String] { terms.map { "%\($0.text)%" } }

    /// `LIKE` patterns for what the pairs of a run do not say: that they are neighbours.
    var runPatterns: [String] {
        terms.filter { $0.kind == .unspaced && $0.scalars.count > 2 }.map { "%\($0.text)%" }
    }

    /// `LIKE` patterns for the parts of words, the longest first; empty where none is long enough to be found by.
    var partPatterns: [String] {
        let parts = terms.sorted { $0.scalars.count > $1.scalars.count }
        guard let longest = parts.first, longest.scalars.count >= Self.shortestPart else { return [] }
        return parts.map { "%\($0.text)%" }
    }

    // MARK: In a text

    /// Where the terms stand in a text, as ranges of its bytes in ascending order; nil where one of them is missing.
    func matches(in text: FoldedText, _ mode: Mode) -> [Range<Int>]? {
        var found: [Range<Int>] = []
        for term in terms {
            let places = text.words.flatMap { term.places(in: text, $0, mode) }
            guard !places.isEmpty else { return nil }
            found += places.map { Int(text.starts[$0.lowerBound])..<Int(text.ends[$0.upperBound - 1]) }
        }
        return found.sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
    }
}

extension SearchTerms.Term {
    /// Where it stands in one word of a text, as ranges of its scalars.
    fileprivate func places(in text: FoldedText, _ word: FoldedText.Word, _ mode: SearchTerms.Mode) -> [Range<Int>] {
        guard word.kind == kind, word.range.count >= scalars.count else { return [] }
        let start = word.range.lowerBound
        if kind == .unspaced || mode == .parts {
            return (start...(word.range.upperBound - scalars.count)).filter { stands(at: $0, in: text) }.map {
                $0..<($0 + scalars.count)
            }
        }
        guard stands(at: start, in: text), isPrefix || word.range.count == scalars.count else { return [] }
        return [start..<(start + scalars.count)]
    }

    private func stands(at index: Int, in text: FoldedText) -> Bool {
        text.scalars[index..<(index + scalars.count)].elementsEqual(scalars)
    }
}
