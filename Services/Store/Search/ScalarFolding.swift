/// The folded form of a Unicode scalar: the scalar that replaces it, without case and accents, and its effect on words.
///
/// Folding happens here and not in PostgreSQL, so the index, the query and the highlights agree whatever the locale of
/// the database. Accents are removed by name ("… WITH ACUTE"), which also covers letters that Unicode does not
/// decompose, such as ø and ł.
struct FoldedScalar {
    enum Role: UInt8 {
        /// Ends a word.
        case separator
        /// Does not end a word and is skipped: accents, apostrophes, joiners, skin tones.
        case ignored
        case word
        /// A character of a script that is written without spaces.
        case unspaced
        /// A separate word, such as an emoji.
        case symbol
    }

    let value: UInt32
    let role: Role

    init(_ scalar: UInt32) {
        switch scalar {
        case 0x61...0x7A, 0x30...0x39: self.init(scalar, .word)
        case 0x41...0x5A: self.init(scalar + 0x20, .word)
        case 0x27: self.init(0, .ignored)
        case ..<0x80: self.init(0, .separator)
        case ..<Self.tableEnd: self = Self.table[Int(scalar)]
        case 0x2E00...0xA63F, 0x1F000...: self = Self.folded(scalar)  // Most of it, and no letters with case.
        default: self = Self.letters[scalar] ?? Self.folded(scalar)
        }
    }

    private init(_ value: UInt32, _ role: Role) {
        self.value = value
        self.role = role
    }

    private static let tableEnd: UInt32 = 0x2000
    private static let table: [FoldedScalar] = (0..<tableEnd).map(folded)

    /// The letters with case beyond the table. Their names take microseconds each: a text of nothing else took tens of
    /// milliseconds.
    private static let letters: [UInt32: FoldedScalar] = {
        let numbers = (tableEnd...0x1EFFF).filter { Unicode.Scalar($0).map(isCased) ?? false }
        return Dictionary(uniqueKeysWithValues: numbers.map { ($0, folded($0)) })
    }()

    private static func isCased(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter, .lowercaseLetter: true
        default: false
        }
    }

    /// Builds the tables, which takes tens of milliseconds, before a request needs them.
    static func prepare() {
        _ = table
        _ = letters
    }

    private static func folded(_ number: UInt32) -> FoldedScalar {
        guard let scalar = Unicode.Scalar(number), !isIgnored(number) else { return FoldedScalar(0, .ignored) }
        if isUnspaced(number) { return FoldedScalar(number, .unspaced) }
        if (0xFF01...0xFF5E).contains(number) { return FoldedScalar(number - 0xFEE0) }  // Full width forms of ASCII.
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter, .lowercaseLetter: FoldedScalar(bare(scalar).value, .word)
        case .modifierLetter, .otherLetter, .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber,
            .letterNumber,
            .otherNumber:
            FoldedScalar(number, .word)
        case .otherSymbol, .mathSymbol, .currencySymbol: FoldedScalar(number, .symbol)
        default: FoldedScalar(0, .separator)
        }
    }

    // MARK: Significant scalars

    private static func isIgnored(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x300...0x36F: true  // Combining accents.
        case 0x2019, 0x2BC, 0xAD, 0x200C, 0x200D, 0x2060: true  // Apostrophes, soft hyphen, joiners.
        case 0xFE00...0xFE0F, 0x1F3FB...0x1F3FF, 0xE0000...0xE0FFF: true  // Variants, skin tones, tags.
        default: false
        }
    }

    /// Thai, Lao, Myanmar, Khmer, kana and Chinese characters.
    private static func isUnspaced(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xE00...0xEFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3005...0x3007, 0x3041...0x30FA, 0x30FC...0x30FF,
            0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0xFF66...0xFF9F, 0x20000...0x3FFFD:
            true
        default: false
        }
    }

    // MARK: Letters without case and accents

    private static func bare(_ letter: Unicode.Scalar) -> Unicode.Scalar {
        let lower = letter.properties.lowercaseMapping.unicodeScalars.first ?? letter
        if let other = unnamed[lower.value] { return Unicode.Scalar(other) ?? lower }
        guard let name = lower.properties.name, let suffix = name.firstRange(of: " WITH ") else { return lower }
        return bareLetters[name[..<suffix.lowerBound]] ?? lower
    }

    /// Letters whose names do not help: the final sigma, and Cyrillic letters with a breve or a diaeresis.
    private static let unnamed: [UInt32: UInt32] = [0x3C2: 0x3C3, 0x439: 0x438, 0x451: 0x435, 0x457: 0x456]

    /// The letters without an accent, by name: Latin, Greek, Cyrillic.
    private static let bareLetters: [Substring: Unicode.Scalar] = {
        let letters = [0x61...0x24F, 0x370...0x52F].joined().compactMap(Unicode.Scalar.init(_:))
        let named = letters.compactMap { letter in letter.properties.name.map { (Substring($0), letter) } }
        // A letter with two accents loses both: short i with a tail.
        let bare = named.filter { !$0.0.contains(" WITH ") }.map { name, letter in
            (name, unnamed[letter.value].flatMap(Unicode.Scalar.init(_:)) ?? letter)
        }
        return Dictionary(bare, uniquingKeysWith: { first, _ in first })
    }()
}
