import Testing

@testable import ParleyChat

@Suite struct GlyphTests {
    @Test(
        "what is written to a terminal has a width that every terminal agrees on",
        arguments: [
            ("a", "a", 1), ("é", "é", 1), ("e\u{301}", "e\u{301}", 1), ("漢", "漢", 2), ("👍", "👍", 2),
            ("👍🏽", "👍", 2), ("👩‍👩‍👧", "👩👩👧", 6), ("❤️", "❤", 1), ("🇩🇪", "🇩🇪", 2), ("한", "한", 2),
            ("\u{1F468}\u{200D}", "👨", 2),
        ])
    func widths(character: Character, text: String, width: Int) {
        let glyph = Glyph(character)
        #expect(glyph?.text == text)
        #expect(glyph?.width == width)
    }

    @Test(
        "what shows nothing, or would move things, is not written",
        arguments: ["\u{1B}", "\u{7}", "\u{0}", "\u{202E}", "\u{2067}", "\u{200B}", "\u{FEFF}", "\u{9B}", "\u{301}"])
    func nothing(character: String) { #expect(Glyph.glyphs(character).isEmpty) }

    @Test("of a tower of marks, three are written")
    func towers() {
        let tower = "a" + String(repeating: "\u{335}", count: 100)
        #expect(Glyph(tower.first!)?.text.unicodeScalars.count == 4)
    }
}

@Suite struct WrappingTests {
    @Test(
        "lines end between words, else anywhere",
        arguments: [
            ("one two three", 7, ["one two", "three"]), ("one two", 3, ["one", "two"]),
            ("abcdefgh", 3, ["abc", "def", "gh"]), ("a\n\nb", 5, ["a", "", "b"]), ("", 5, [""]),
            ("漢字漢字", 5, ["漢字", "漢字"]), ("ab cdefghij", 4, ["ab", "cdef", "ghij"]), ("a\n", 5, ["a", ""]),
            ("a  b", 2, ["a", "b"]),
        ])
    func wrapping(text: String, width: Int, lines: [String]) { #expect(wrapped(text, width: width) == lines) }

    @Test("a line is exactly as wide as it is asked to be")
    func fitting() {
        for width in 1...12 {
            #expect(Line("漢字 and more").fitted(to: width).width == width)
            #expect(Line("x").fitted(to: width).width == width)
        }
        #expect(Line("abcdef").fitted(to: 4).text == "abc…")
        #expect(Line("漢字漢").fitted(to: 4).text == "漢… ")
    }
}

@Suite struct TextEditorTests {
    @Test("characters are inserted and deleted as the user sees them")
    func characters() {
        var editor = TextEditor()
        for part in ["a", "👩", "\u{200D}", "👧", "b"] { editor.insert(part, limit: 1000) }
        #expect(editor.cursor == 3)
        editor.moveLeft()
        editor.deleteBackward()
        #expect(editor.text == "ab" && editor.cursor == 1)
        editor.deleteForward()
        editor.deleteForward()
        #expect(editor.text == "a")
    }

    @Test("a text never grows beyond its limit")
    func limit() {
        var editor = TextEditor("abc")
        editor.insert("déf", limit: 6)
        #expect(editor.text == "abcdé")
    }

    @Test("words and lines are the units of some keys")
    func units() {
        var editor = TextEditor("one two\nthree four")
        editor.deleteWord()
        #expect(editor.text == "one two\nthree ")
        editor.deleteToStart()
        #expect(editor.text == "one two\n")
        editor.moveWordLeft()
        #expect(editor.cursor == 4)
        editor.moveToStart()
        editor.moveWordRight()
        #expect(editor.cursor == 3)
        editor.deleteToEnd()
        #expect(editor.text == "one\n")
    }

    @Test("the cursor is where the text is, also behind wide characters and in a new line")
    func layout() {
        var editor = TextEditor("漢字 ab")
        #expect(editor.layout(width: 20).cursor == Frame.Position(column: 7, row: 0))
        editor.insert("\n", limit: 100)
        #expect(editor.layout(width: 20).cursor == Frame.Position(column: 0, row: 1))
        #expect(editor.layout(width: 4).lines == ["漢字 ", "ab", ""])
        let moved = editor.moveLine(by: -1, width: 20)
        #expect(moved && editor.cursor == 0)
        let further = editor.moveLine(by: -1, width: 20)
        #expect(!further)
    }
}
