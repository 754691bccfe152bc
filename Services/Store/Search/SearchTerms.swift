/// The words that a query looks for; a message must have all of them. The last word also matches at the start of longer
/// words. A run of a script without spaces matches anywhere.
///
/// Nothing in a query is an operator. Only letters, digits and symbols reach the database. ASCII characters with a
/// meaning to it (`% _ \`) are never part of a word.
struct SearchTerms {
    /// How words are compared with those of a text.
    enum Mode {
        /// As whole words.
        case words
        /// As parts of words, for queries that match no whole words.
        case parts
    }

    struct Term: Equatable {
        let kind: FoldedText.Kind
        let scalars: [UInt32]
        /// Whether it may match the beginning of a longer word.
        let isPrefix: Bool
        let text: String
        /// The prefix table of Knuth, Morris and Pratt: the longest proper prefix of the term that ends at each of its
        /// scalars. With it no part of a text is compared twice, even if text and term are highly repetitive.
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

    /// The maximum number of words and runs. Further ones are ignored.
    static let limit = 32
    /// The shortest part that has a trigram to search by.
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

    /// `LIKE` patterns that hold in every matching text after folding.
    var patterns: [String] { terms.map { "%\($0.text)%" } }

    /// What a matching text holds in the index (`SearchBlock.text`), longest first.
    func needles(_ mode: Mode) -> [String] {
        terms.sorted { $0.scalars.count > $1.scalars.count }.map { $0.needle(mode) }
    }

    /// Whether parts of words are searched for: one is long enough.
    var hasParts: Bool { terms.contains { $0.scalars.count >= Self.shortestPart } }

    /// Bits that the filter of a block with a matching text has: as many of each term, from its end on, where words differ.
    func probes(_ mode: Mode) -> [Int32] {
        var bits = terms.map { $0.bits(mode) }
        var probes: [Int32] = []
        while probes.count < TextFilter.probeLimit, bits.contains(where: { !$0.isEmpty }) {
            for index in bits.indices { probes += bits[index].popLast().map { [Int32($0)] } ?? [] }
        }
        return Array(probes.prefix(TextFilter.probeLimit))
    }

    // MARK: Matching

    /// The number of places of one term that are looked for in a text: more than a snippet shows after the first.
    static let placeLimit = 256

    /// The places of the terms in a text, as ascending byte ranges that do not overlap. Nil if a term is missing.
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
    fileprivate func needle(_ mode: SearchTerms.Mode) -> String {
        guard kind != .unspaced, mode == .words else { return text }
        return isPrefix ? " \(text)" : " \(text) "
    }

    fileprivate func bits(_ mode: SearchTerms.Mode) -> [UInt32] {
        var bits: [UInt32] = []
        let isWhole = mode == .words
        TextFilter.forEachBit(of: scalars[...], kind, hasStart: isWhole, hasEnd: isWhole && !isPrefix) {
            bits.append($0)
        }
        return bits
    }

    /// The first places of the term in a text, as ranges of its scalars.
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
    /// The ascending ranges with overlapping ones joined.
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
