import Bytes

/// The words of a text in the form used for comparison: without case and accents, each with its range in the text.
///
/// A word is a run of letters and digits, a run of characters of a script without spaces, or a single symbol. Only the
/// first 64 characters of a longer word count.
struct FoldedText {
    enum Kind {
        case word
        case unspaced
        case symbol
    }

    struct Word {
        let kind: Kind
        /// Indices into `scalars`.
        var range: Range<Int>
    }

    static let wordLimit = 64

    private(set) var scalars: [UInt32] = []
    /// The byte offset in the text where each scalar starts, and where it ends including the ignored ones after it.
    private(set) var starts: [Int32] = []
    private(set) var ends: [Int32] = []
    private(set) var words: [Word] = []
    /// Whether the next scalar may continue the last word.
    private var isOpen = false

    /// `text` must be valid UTF-8.
    init(_ text: UnsafeRawBufferPointer) {
        scalars.reserveCapacity(text.count)
        starts.reserveCapacity(text.count)
        ends.reserveCapacity(text.count)
        var offset = 0
        while offset < text.count {
            let (scalar, length) = Self.decode(text, at: offset)
            add(FoldedScalar(scalar), from: offset, to: offset + length)
            offset += length
        }
    }

    init(_ text: String) {
        var text = text
        self = text.withUTF8 { FoldedText(UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(_ scalar: FoldedScalar, from start: Int, to end: Int) {
        switch scalar.role {
        case .separator: isOpen = false
        case .ignored: if isOpen, !ends.isEmpty { ends[ends.count - 1] = Int32(end) }
        case .word: add(scalar.value, to: .word, start, end)
        case .unspaced: add(scalar.value, to: .unspaced, start, end)
        case .symbol:
            isOpen = false
            add(scalar.value, to: .symbol, start, end)
        }
    }

    private mutating func add(_ value: UInt32, to kind: Kind, _ start: Int, _ end: Int) {
        let last = words.count - 1
        if isOpen, words[last].kind == kind, kind != .symbol {
            // A run without spaces contains many words, so it is never cut.
            guard kind == .unspaced || words[last].range.count < Self.wordLimit else { return }
            words[last].range = words[last].range.lowerBound..<(scalars.count + 1)
        } else {
            words.append(Word(kind: kind, range: scalars.count..<(scalars.count + 1)))
        }
        isOpen = true
        scalars.append(value)
        starts.append(Int32(start))
        ends.append(Int32(end))
    }

    private static func decode(_ text: UnsafeRawBufferPointer, at offset: Int) -> (scalar: UInt32, length: Int) {
        let first = UInt32(text[offset])
        func next(_ distance: Int) -> UInt32 { UInt32(text[offset + distance]) & 0x3F }
        switch first {
        case ..<0x80: return (first, 1)
        case ..<0xE0: return ((first & 0x1F) << 6 | next(1), 2)
        case ..<0xF0: return ((first & 0xF) << 12 | next(1) << 6 | next(2), 3)
        default: return ((first & 7) << 18 | next(1) << 12 | next(2) << 6 | next(3), 4)
        }
    }
}

// MARK: For the index

extension FoldedText {
    /// The words, separated by spaces.
    var text: String { joined(words.lazy.map(\.range)) }

    func string(_ range: Range<Int>) -> String { joined(CollectionOfOne(range)) }

    /// Encodes UTF-8 by hand: appending to a string scalar by scalar took seven microseconds a message.
    private func joined(_ ranges: some Sequence<Range<Int>>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(scalars.count + words.count)
        for range in ranges {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: " ")) }
            for value in scalars[range] { Self.encode(value, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func encode(_ scalar: UInt32, to bytes: inout [UInt8]) {
        func rest(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | scalar >> shift & 0x3F) }
        switch scalar {
        case ..<0x80: bytes.append(UInt8(truncatingIfNeeded: scalar))
        case ..<0x800: bytes += [UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6), rest(0)]
        case ..<0x10000: bytes += [UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12), rest(6), rest(0)]
        default: bytes += [UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18), rest(12), rest(6), rest(0)]
        }
    }
}
