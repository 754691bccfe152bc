import CNcurses
import Models

/// One character as a terminal shows it: its text, and the columns that it takes.
///
/// Terminals disagree about what takes how many columns, and one that is wrong about it shifts the rest of its line. So
/// only what all of them agree on is written: joined emoji side by side, without skin tones and selectors of style.
struct Glyph: Equatable {
    var text: String
    var width: Int
    var isSpace = false
    var isNewline = false

    static let newline = Glyph(text: "", width: 0, isSpace: true, isNewline: true)

    /// A terminal's cell holds about as many.
    private static let mostMarks = 3

    private init(text: String, width: Int, isSpace: Bool, isNewline: Bool) {
        self.text = text
        self.width = width
        self.isSpace = isSpace
        self.isNewline = isNewline
    }

    /// Nil for what shows nothing.
    init?(_ character: Character) {
        if let byte = character.asciiValue, byte >= 0x20, byte != 0x7F {
            self.init(text: String(character), width: 1, isSpace: byte == 0x20, isNewline: false)
            return
        }
        if character.isNewline {
            self = .newline
            return
        }
        if character == "\t" {
            self.init(text: " ", width: 1, isSpace: true, isNewline: false)
            return
        }
        self.init(text: "", width: 0, isSpace: false, isNewline: false)
        add(character.unicodeScalars)
        guard width > 0 else { return nil }
        isSpace = text.allSatisfy(\.isWhitespace)
    }

    private mutating func add(_ scalars: Character.UnicodeScalarView) {
        var scalarsShown = String.UnicodeScalarView()
        var marks = 0
        var isWide = false
        for scalar in scalars where !scalar.isLeftOut(afterWide: isWide, isFirst: scalarsShown.isEmpty) {
            let columns = TerminalLocale.width(of: scalar)
            if columns < 0 {
                scalarsShown.append("\u{FFFD}")
                width += 1
            } else if columns == 0 {
                marks += 1
                if width > 0, marks <= Self.mostMarks { scalarsShown.append(scalar) }
            } else {
                scalarsShown.append(scalar)
                width += columns
                marks = 0
                isWide = columns > 1
            }
        }
        text = String(scalarsShown)
    }

    /// The glyphs of a text; those that show nothing are left out.
    static func glyphs(_ text: String) -> [Glyph] {
        var glyphs: [Glyph] = []
        glyphs.reserveCapacity(text.utf8.count)
        for character in text { if let glyph = Glyph(character) { glyphs.append(glyph) } }
        return glyphs
    }
}

extension Unicode.Scalar {
    fileprivate func isLeftOut(afterWide isWide: Bool, isFirst: Bool) -> Bool {
        switch value {
        case _ where !mayStandInOneLine: true
        case 0x200C, 0x200D: isFirst || isWide  // joiners change letters, but take emoji apart in some terminals
        case 0x200B, 0x200E, 0x200F, 0x2060...0x206F, 0x061C, 0xFEFF, 0xFFF9...0xFFFB: true
        case 0xFE00...0xFE0F, 0xE0000...0xE0FFF: true  // selectors of style, tags
        case 0x1F3FB...0x1F3FF: !isFirst  // skin tones
        default: false
        }
    }
}

/// The C library's idea of characters, which it and ncurses take from the locale.
enum TerminalLocale {
    /// Whether it is one with all characters. A user whose environment names none gets one anyway.
    static let isUnicode: Bool = {
        setlocale(LC_CTYPE, "")
        if isUTF8 { return true }
        setlocale(LC_CTYPE, "C.UTF-8")
        return isUTF8
    }()

    private static var isUTF8: Bool { String(cString: nl_langinfo(nl_item(CODESET))) == "UTF-8" }

    /// The columns of a character; negative if it cannot be shown.
    static func width(of scalar: Unicode.Scalar) -> Int {
        guard isUnicode else { return scalar.isASCII ? 1 : -1 }
        return Int(ncurses_width(scalar.value))
    }
}
