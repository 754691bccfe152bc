import ParleyPresentation
import Testing

@Suite struct HarmlessTextTests {
    @Test(
        "a line is one line, whatever was written",
        arguments: [
            ("one\n\ttwo \r\n three", "one two three"),
            ("\u{1B}[31mred\u{07}\u{0}", "[31mred"),
            ("a\u{202E}b\u{2066}c\u{2069}d", "abcd"),
            ("\u{2028}x\u{2029}y\u{85}z", "x y z"),
            ("  \n ", ""),
            ("👩‍👩‍👧 ok", "👩‍👩‍👧 ok"),
            ("שלום", "שלום"),
        ])
    func lines(text: String, line: String) { #expect(HarmlessText.line(text) == line) }

    @Test("marks that are stacked are cut off, those of a language stay")
    func marks() {
        let tower = "z" + String(repeating: "\u{0301}", count: 500)
        #expect(HarmlessText.line(tower).unicodeScalars.count == 5)
        #expect(HarmlessText.line("Tiê\u{0301}ng") == "Tiê\u{0301}ng")
        #expect(HarmlessText.lines(tower + "\n" + tower).unicodeScalars.count == 11)
    }

    @Test("a long line ends with an ellipsis; one that just fits does not")
    func limit() {
        #expect(HarmlessText.line("abcdef", limit: 6) == "abcdef")
        #expect(HarmlessText.line("abcdefg", limit: 6) == "abcdef…")
        #expect(HarmlessText.line(String(repeating: "x\n", count: 100_000), limit: 5) == "x x x…")
    }

    @Test("paragraphs keep their lines and lose what is harmful")
    func paragraphs() { #expect(HarmlessText.lines("a\r\nb\u{1B}\tc\u{202E}d") == "a\nb cd") }
}
