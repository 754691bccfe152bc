import Testing

@testable import Models

@Suite struct TapbackKindTests {
    @Test(
        "the classic kinds and single emoji are tapbacks",
        arguments: [
            "love", "like", "dislike", "laugh", "emphasize", "question",
            // Emoji presentation by default.
            "😀", "🎉", "⌚", "☕", "🀄", "🦰", "🫠", "⭐", "🏽",
            // Emoji presentation by U+FE0F.
            "❤️", "☎️", "©️", "™️", "‼️", "ℹ️", "😀\u{FE0F}", "㊗️", "🅰️",
            // Keycaps.
            "1️⃣", "#️⃣", "*️⃣",
            // Flags, including those of subdivisions.
            "🇩🇪", "🇺🇳", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
            // Skin tones and hair colours.
            "👍🏽", "☝🏿", "🧑🏾‍🦱",
            // Joined.
            "👨‍👩‍👧‍👦", "❤️‍🔥", "❤‍🔥", "🏳️‍🌈", "🏴‍☠️", "🧑‍🚀", "👩🏽‍❤️‍💋‍👨🏿", "🕵️‍♀️", "🐻‍❄️", "🙂‍↔️", "🫱🏻‍🫲🏿",
        ])
    func accepted(kind: String) { #expect(TapbackKind(kind)?.name == kind) }

    @Test(
        "any other text is not a tapback",
        arguments: [
            "", " ", "Love", "LIKE", "heart", "love ", " 😀", "😀 ", "😀\n",
            // Letters and other characters, including those that begin an emoji.
            "a", "ä", "語", "1", "#", "*", "12", "§", "→", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{E007F}",
            "1\u{FE0F}", "1\u{20E3}", "a\u{FE0F}\u{20E3}", "1️⃣\u{FE0F}", "A\u{FE0F}",
            // Symbols with text presentation, by default or by selector.
            "❤", "©", "™", "☎", "↔", "😀\u{FE0E}", "❤\u{FE0E}", "☕\u{FE0E}",
            // More than one.
            "😀😀", "👍👎", "❤️❤️", "🇩🇪🇫🇷", "love😀", "😀a", "1️⃣2️⃣", "👍🏽👍",
            // Parts of emoji, and parts combined wrongly.
            "🇩", "🇩🇪🇫", "😀🏽", "❤️🏽", "👍🏽🏽", "👍🏽\u{FE0F}", "👍\u{200D}", "\u{200D}👍", "👍\u{200D}\u{200D}👍",
            "👍\u{200D}a", "👍\u{200D}1️⃣", "👍\u{200D}🇩🇪", "❤️\u{FE0F}", "🏳️\u{200D}\u{FE0F}",
            // Invisible characters.
            "😀\u{301}", "😀\u{20DD}", "😀\u{E0061}\u{E007F}", "🏴\u{E007F}", "🏴\u{E0067}\u{E0062}",
            "🏴\u{E0067}\u{E007F}", "🏴\u{E0021}\u{E0022}\u{E0023}\u{E007F}",
            "🏴\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E0061}\u{E007F}",
        ])
    func refused(kind: String) { #expect(TapbackKind(kind) == nil) }

    @Test("an emoji longer than the store's limit is refused")
    func length() {
        let family = Array(repeating: "👩", count: 10).joined(separator: "\u{200D}")
        #expect(EmojiSequence.isOne(family) && family.utf8.count == 67)
        #expect(TapbackKind(family) == nil)
        let smaller = Array(repeating: "👩", count: 9).joined(separator: "\u{200D}")
        #expect(TapbackKind(smaller) != nil)
    }
}
