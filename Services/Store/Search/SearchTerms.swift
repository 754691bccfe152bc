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
        /// How much of the term ends, and begins it, at each of its scalars (Knuth, Morris, Pratt): nothing of a text is
        /// compared twice, however alike the two are.
        let overlaps: [Int]

        init(kind: FoldedText.Kind, scalars: [UInt32], isPrefix: Bool, text: String) {
            self.kind = kind
            self.scalars = scalars
            self.isPrefix = isPrefix
            self.text = text
            overlaps = Self.overlaps(scalars)
        }

        private static func overlaps(_ scalars: [UInt32]) -> [Int] {
            var overlaps = Array(repeating: 0, count: scalars.count)
            var length = 0
            for index in scalars.indices.dropFirst() {
                while length > 0, scalars[index] != scalars[length] { length = overlaps[length - 1] }
                if scalars[index] == scalars[length] { length += 1 }
                overlaps[index] = length
            }
            return overlaps
        }
    }

    /// Words and runs that are looked for; further ones are not.
    static let limit = 32
    /// A shorter part has no trigram to be found by.
    private static let shortestPart = 3

    let terms: [Term]

    init(_ query: String) {
        let folded = FoldedText(query)
        let words = folded.words.prefix(Self.limit)
        let all = words.enumerated().map { index, word in
            Term(
                kind: word.kind, scalars: Array(folded.scalars[word.range]),
                isPrefix: index == folded.words.count - 1 && word.kind == .word, text: folded.string(word.range))
        }
        terms = all.indices.filter { !all[..<$0].contains(all[$0]) }.map { all[$0] }
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

    /// Places of one term that are looked for in a text: more than a snippet shows behind the first.
    static let placeLimit = 256

    /// Where the terms stand in a text, as ranges of its bytes in ascending order that do not overlap; nil where one of them
    /// is missing.
    func matches(in text: FoldedText, _ mode: Mode) -> [Range<Int>]? {
        var found: [Range<Int>] = []
        for term in terms {
            let places = term.places(in: text, mode)
            guard !places.isEmpty else { return nil }
            found += places.map { Int(text.starts[$0.lowerBound])..<Int(text.ends[$0.upperBound - 1]) }
        }
        return found.sorted { $0.lowerBound < $1.lowerBound }.merged
    }
}

extension SearchTerms.Term {
    /// Where it stands first in a text, as ranges of its scalars.
    fileprivate func places(in text: FoldedText, _ mode: SearchTerms.Mode) -> [Range<Int>] {
        var places: [Range<Int>] = []
        for word in text.words where word.kind == kind && word.range.count >= scalars.count {
            if kind == .unspaced || mode == .parts {
                addPlaces(anywhereIn: word.range, of: text, to: &places)
            } else if isPrefix || word.range.count == scalars.count {
                addPlace(atStartOf: word.range, of: text, to: &places)
            }
            if places.count >= SearchTerms.placeLimit { break }
        }
        return places
    }

    private func addPlace(atStartOf word: Range<Int>, of text: FoldedText, to places: inout [Range<Int>]) {
        let start = word.lowerBound
        for index in scalars.indices where text.scalars[start + index] != scalars[index] { return }
        places.append(start..<(start + scalars.count))
    }

    private func addPlaces(anywhereIn word: Range<Int>, of text: FoldedText, to places: inout [Range<Int>]) {
        var length = 0
        for index in word {
            while length > 0, text.scalars[index] != scalars[length] { length = overlaps[length - 1] }
            if text.scalars[index] == scalars[length] { length += 1 }
            guard length == scalars.count else { continue }
            places.appendMerging((index + 1 - length)..<(index + 1))
            if places.count >= SearchTerms.placeLimit { return }
            length = overlaps[length - 1]
        }
    }
}

extension [Range<Int>] {
    /// Of ranges in ascending order those that overlap as one.
    fileprivate var merged: Self {
        var merged: Self = []
        for range in self { merged.appendMerging(range) }
        return merged
    }

    fileprivate mutating func appendMerging(_ range: Range<Int>) {
        if let last, range.lowerBound < last.upperBound {
            self[count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
        } else {
            append(range)
        }
    }
}
