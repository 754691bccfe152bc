import Testing

@testable import Store

/// Words, query matches and excerpts, without a database.
@Suite
struct SearchTextTests {
    @Test(
        "words are compared without case, accents and apostrophes, whatever stands between them",
        arguments: [
            ("Hello, World!", "hello world"), ("don't DON’T", "dont dont"), ("naïve café", "naive cafe"),
            ("ne\u{301}e", "nee"), ("Ångström Øre łódź", "angstrom ore lodz"), ("foo.bar/baz_1", "foo bar baz 1"),
            ("ΣΟΦΟΣ σοφός", "σοφοσ σοφοσ"), ("Ёлка Йод", "елка иод"), ("ＡＢＣ１", "abc1"), ("  \n\t", ""), ("'''", ""),
            ("Tiếng Việt", "tieng viet"), ("I❤\u{FE0F}U 👍🏽", "i ❤ u 👍"), ("iPhoneを買う", "iphone を買う"),
            ("한국어 검색", "한국어 검색"),
        ])
    func words(text: String, expected: String) {
        #expect(FoldedText(text).text == expected)
    }

    @Test("folding what was folded changes nothing, whatever characters it has: filters are made from folded texts")
    func folding() {
        let changed = (UInt32(0x20)...0x3FFFF).filter { number in
            let folded = FoldedScalar(number), again = FoldedScalar(folded.value)
            let isPart = folded.role != .ignored && folded.role != .separator
            return isPart && (again.value, again.role) != (folded.value, folded.role)
        }
        #expect(changed.isEmpty)
    }

    @Test(
        "what a search looks for is in every text that matches, as it is indexed, and its probes are in the text's filter",
        arguments: [
            ("meeting at nine", "nine meet"), ("a", "a"), ("Don't ask", "DONT as"), ("明日は東京です", "東京"), ("明日は東京です", "す"),
            ("iPhoneを買う", "iphone を買う"), ("well done 🎉", "🎉"), ("one two three four five", "five four three two one"),
            (String(repeating: "x", count: 100), String(repeating: "x", count: 80)),
        ])
    func needles(text: String, query: String) {
        let terms = SearchTerms(query)
        let folded = FoldedText(text)
        var filter = TextFilter()
        filter.add(folded)
        for mode in [SearchTerms.Mode.words, .parts] {
            #expect(terms.needles(mode).allSatisfy(SearchBlock.text(folded).contains))
            #expect(terms.probes(mode).count <= TextFilter.probeLimit)
            #expect(terms.probes(mode).allSatisfy(filter.has))
        }
    }

    @Test("needles say where words begin and end, the longest first; a filter rules out what it does not have")
    func probes() {
        #expect(SearchTerms("at nine 東京 mee").needles(.words) == [" nine ", " mee", " at ", "東京"])
        #expect(SearchTerms("at nine").needles(.parts) == ["nine", "at"])
        var filter = TextFilter()
        for text in ["meeting at nine", "明日は東京です"] { filter.add(FoldedText(text)) }
        for absent in ["meeting ni a", "eeting", "nin at", "京東", "x", "🎉"] {
            #expect(!SearchTerms(absent).probes(.words).allSatisfy(filter.has), "\(absent)")
        }
        #expect(SearchTerms("eetin").probes(.parts).allSatisfy(filter.has))
        #expect(filter.hexadecimal.count == TextFilter.bitCount / 4)
    }

    @Test(
        "operators of the query language are plain text",
        arguments: ["a & b | !c:*", "%a% _b c", "(a) b \"c\" ' OR 1=1"])
    func operators(query: String) {
        let needles = SearchTerms(query).needles(.words)
        #expect(needles.allSatisfy { $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == " " } })
        #expect(needles.contains(" a "))
    }

    @Test(
        "a text matches when it has all words, the last one also at the beginning of a word",
        arguments: [
            ("meeting at nine", "Meeting", true), ("meeting at nine", "meet", true),
            ("meeting at nine", "meet nine", false),
            ("meeting at nine", "nine meet", true), ("meeting at nine", "eting", false), ("don't", "DONT", true),
            ("明日は東京です", "東京", true), ("明日は東京です", "京東", false), ("明日は東京です", "です", true),
            ("明日は東京です", "す", true), ("東北と北京", "東北京", false), ("well done 🎉", "🎉", true),
            ("well done", "🎉", false), ("v1 2.3", "2.3", true),
        ])
    func matching(text: String, query: String, isFound: Bool) {
        #expect((SearchTerms(query).matches(in: FoldedText(text), .words) != nil) == isFound)
    }

    @Test("parts of words are looked for only where one has three characters")
    func parts() {
        #expect(SearchTerms("eting at").hasParts)
        #expect(!SearchTerms("et at").hasParts)
        #expect(SearchTerms("eting").matches(in: FoldedText("Meeting"), .parts) == [2..<7])
    }

    @Test(
        "matches are marked where they stand in the text, accents and all",
        arguments: [
            ("Un café, un Cafe\u{301}!", "cafe", "Un [café], un [Cafe\u{301}]!"), ("明日は東京です", "東京", "明日は[東京]です"),
            ("a\u{2}b\u{3}c", "b", "a[b]c"), ("family 👨‍👩‍👧!", "👩", "family [👨‍👩‍👧]!"), ("hello", "he", "[he]llo"),
        ])
    func snippet(text: String, query: String, expected: String) throws {
        let matches = try #require(SearchTerms(query).matches(in: FoldedText(text), .words))
        let snippet = Snippet.make(text, matches: matches)
        #expect(snippet.replacing("\u{2}", with: "[").replacing("\u{3}", with: "]") == expected)
    }

    @Test("a long text is cut around its first match")
    func longSnippet() throws {
        let text = String(repeating: "before ", count: 100) + "needle" + String(repeating: " behind", count: 100)
        let snippet = Snippet.make(
            text, matches: try #require(SearchTerms("needle").matches(in: FoldedText(text), .words)))
        #expect(snippet.hasPrefix("…before") && snippet.hasSuffix("…"))
        #expect(snippet.contains("\u{2}needle\u{3}"))
        #expect(snippet.count < 170)
        let end = String(repeating: "before ", count: 100) + "needle"
        let atEnd = Snippet.make(end, matches: try #require(SearchTerms("needle").matches(in: FoldedText(end), .words)))
        #expect(atEnd.hasSuffix("\u{2}needle\u{3}") && atEnd.count > 120)
    }
}

extension TextFilter {
    /// Whether a bit is set, as `get_bit` of PostgreSQL counts them.
    fileprivate func has(_ bit: Int32) -> Bool {
        let digit = Array(hexadecimal)[Int(bit) / 4].hexDigitValue!
        return digit & (8 >> (Int(bit) % 4)) != 0
    }
}
