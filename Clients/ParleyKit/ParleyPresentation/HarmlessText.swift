import Models

/// What strangers wrote, made so that it cannot disturb what is shown around it: no control characters, nothing that
/// turns the direction of the text after it, no towers of combining marks.
public enum HarmlessText {
    private static let marksPerCharacter = 4
    /// Families of emoji have about ten. Any number could be joined to one character.
    private static let scalarsPerCharacter = 32

    /// One line, at most `limit` characters with an ellipsis in the place of the rest.
    public static func line(_ text: String, limit: Int = 200) -> String {
        var line = ""
        var count = 0
        var spaceIsDue = false
        for character in text {
            guard let shown = harmless(character) else { continue }
            if shown.isWhitespace {
                spaceIsDue = count > 0
                continue
            }
            guard count + (spaceIsDue ? 1 : 0) < limit else { return line + "…" }
            if spaceIsDue {
                line.append(" ")
                count += 1
                spaceIsDue = false
            }
            line.append(shown)
            count += 1
        }
        return line
    }

    /// The text with its lines.
    public static func lines(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for character in text { if let shown = harmless(character) { result.append(shown) } }
        return result
    }

    /// Nil for what shows nothing.
    private static func harmless(_ character: Character) -> Character? {
        if character.isNewline { return "\n" }
        if character == "\t" { return " " }
        let scalars = character.unicodeScalars
        if scalars.count == 1, let only = scalars.first { return only.isHarmless ? character : nil }
        var kept = String.UnicodeScalarView()
        var marks = 0
        for scalar in scalars where scalar.isHarmless {
            marks = scalar.isMark ? marks + 1 : 0
            if marks <= marksPerCharacter { kept.append(scalar) }
            if kept.count == scalarsPerCharacter { break }
        }
        // What is left may not be one character: then its first.
        return kept.isEmpty ? nil : String(kept).first
    }
}

extension Unicode.Scalar {
    fileprivate var isHarmless: Bool {
        // Nor interlinear annotations and the byte order mark.
        mayStandInOneLine && !(0xFFF9...0xFFFB).contains(value) && value != 0xFEFF
    }

    /// Whether it is drawn over the character before it.
    fileprivate var isMark: Bool {
        guard value >= 0x300 else { return false }
        return switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: true
        default: false
        }
    }
}
