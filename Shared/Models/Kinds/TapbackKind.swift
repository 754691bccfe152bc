/// How a user reacts to a message: one of the six classic kinds, or one emoji.
///
/// `init?(_:)` checks what a user picked. What a server tells is taken as it is: it may know emoji that this version does
/// not.
public struct TapbackKind: Hashable, Sendable {
    /// Bytes of UTF-8 that are kept of it at most; no emoji in use is longer than 35.
    public static let maximumBytes = 64

    public static let love = TapbackKind(trusted: "love")
    public static let like = TapbackKind(trusted: "like")
    public static let dislike = TapbackKind(trusted: "dislike")
    public static let laugh = TapbackKind(trusted: "laugh")
    public static let emphasize = TapbackKind(trusted: "emphasize")
    public static let question = TapbackKind(trusted: "question")

    /// In the order in which they are offered.
    public static let classic = [love, like, dislike, laugh, emphasize, question]
    private static let classicNames = Set(classic.map(\.name))

    /// Of a classic kind its English name, else the emoji.
    public let name: String

    /// Nil unless it is a classic kind or exactly one emoji.
    public init?(_ name: String) {
        guard name.utf8.count <= Self.maximumBytes, Self.classicNames.contains(name) || EmojiSequence.isOne(name) else {
            return nil
        }
        self.name = name
    }

    private init(trusted name: String) { self.name = name }

    /// The emoji, where it is none of the classic kinds.
    public var emoji: String? { Self.classicNames.contains(name) ? nil : name }
}

extension TapbackKind: CustomStringConvertible { public var description: String { name } }

extension TapbackKind: Codable, CodingKeyRepresentable {
    public init(from decoder: any Decoder) throws {
        self.init(trusted: try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(text: name) }

    public var codingKey: any CodingKey { TextKey(name) }

    public init(codingKey: some CodingKey) { self.init(trusted: codingKey.stringValue) }
}
