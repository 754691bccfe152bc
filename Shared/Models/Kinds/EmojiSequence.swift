/// Emoji as defined by Unicode Technical Standard #51 that are shown in colour by default: not the digit, letter or
/// text symbol that some of them begin with.
///
/// A flag of any two letters and any emoji joined to any other are accepted. Which of them have a picture changes every
/// year and depends on the device.
enum EmojiSequence {
    /// Whether the text is exactly one emoji.
    static func isOne(_ text: String) -> Bool {
        guard text.count == 1 else { return false }
        let scalars = text.unicodeScalars[...]
        return isKeycap(scalars) || isFlag(scalars) || isSubdivisionFlag(scalars) || isJoined(scalars)
    }

    private static let joiner: Unicode.Scalar = "\u{200D}"
    private static let emojiPresentation: Unicode.Scalar = "\u{FE0F}"

    /// ED-14c: a digit, `#` or `*` in a box.
    private static func isKeycap(_ scalars: Substring.UnicodeScalarView) -> Bool {
        guard let first = scalars.first, first.isASCII, first.properties.isEmoji else { return false }
        return scalars.dropFirst().elementsEqual([emojiPresentation, "\u{20E3}"])
    }

    /// ED-14: two regional indicators.
    private static func isFlag(_ scalars: Substring.UnicodeScalarView) -> Bool {
        scalars.count == 2 && scalars.allSatisfy(\.isRegionalIndicator)
    }

    /// ED-14a: a black flag and the letters of a region as tags. Other tags are refused: they are invisible, and could
    /// carry hidden content.
    private static func isSubdivisionFlag(_ scalars: Substring.UnicodeScalarView) -> Bool {
        guard scalars.first == "\u{1F3F4}", scalars.last == "\u{E007F}" else { return false }
        let tags = scalars.dropFirst().dropLast()
        return (3...6).contains(tags.count) && tags.allSatisfy(\.isTagOfRegion)
    }

    /// ED-16: one element, or several with joiners between them. Joined elements may lack the presentation selector.
    private static func isJoined(_ scalars: Substring.UnicodeScalarView) -> Bool {
        let elements = scalars.split(separator: joiner, omittingEmptySubsequences: false)
        return elements.allSatisfy { isElement($0, mayLackPresentation: elements.count > 1) }
    }

    /// ED-9a, ED-13: an emoji with emoji presentation, by default or by selector, or with a skin tone.
    private static func isElement(_ scalars: Substring.UnicodeScalarView, mayLackPresentation: Bool) -> Bool {
        guard let first = scalars.first, first.isPictograph else { return false }
        switch scalars.count {
        case 1: return mayLackPresentation || first.properties.isEmojiPresentation
        case 2:
            let second = scalars.last ?? first
            return second == emojiPresentation
                || second.properties.isEmojiModifier && first.properties.isEmojiModifierBase
        default: return false
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is an emoji by itself. Digits, `#` and `*` only begin keycaps; regional indicators come in
    /// pairs.
    fileprivate var isPictograph: Bool { properties.isEmoji && !isASCII && !isRegionalIndicator }

    fileprivate var isRegionalIndicator: Bool { ("\u{1F1E6}"..."\u{1F1FF}").contains(self) }

    /// Whether the scalar is the tag of a digit or a lower-case letter.
    fileprivate var isTagOfRegion: Bool {
        ("\u{E0030}"..."\u{E0039}").contains(self) || ("\u{E0061}"..."\u{E007A}").contains(self)
    }
}
