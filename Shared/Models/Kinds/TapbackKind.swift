/// The kind of a reaction to a message: one of the six classic kinds, or one emoji.
///
/// `init?(_:)` checks a user's choice. A value from a server is not checked, since it may know emoji that this version
/// does not.
public struct TapbackKind: Hashable, Sendable {
    /// The size limit in bytes of UTF-8. No emoji in use is longer than 35.
    public static let maximumBytes = 64

    public static let love = TapbackKind(trusted: "love")
    public static let like = TapbackKind(trusted: "like")
    public static let dislike = TapbackKind(trusted: "dislike")
    public static let laugh = TapbackKind(trusted: "laugh")
    public static let emphasize = TapbackKind(trusted: "emphasize")
    public static let question = TapbackKind(trusted: "question")

    /// The classic kinds in the order in which they are offered.
    public static let classic = [love, like, dislike, laugh, emphasize, question]
    private static let classicNames = Set(classic.map(\.name))

    /// The English name of a classic kind, or the emoji.
    public let name: String

    /// Nil unless it is a classic kind or exactly one emoji.
    public init?(_ name: String) {
        guard name.utf8.count <= Self.maximumBytes, Self.classicNames.contains(name) || EmojiSequence.isOne(name) else {
            return nil
        }
        self.name = name
    }

    private init(trusted name: String) { self.name = name }

    /// The emoji; nil for a classic kind.
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
