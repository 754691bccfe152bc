import Models

/// The tapbacks of a message, each kind once with its count.
public struct TapbackDecorator: BubbleDecorator {
    public let id = "tapback"
    public let position = DecoratorPosition.topTrailing

    public init() {}

    public func shouldDecorate(_ message: Message, context: DecoratorContext) -> Bool {
        !message.deletedForEveryone && !message.tapbackCounts.isEmpty
    }

    public func decoration(of message: Message, context: DecoratorContext) -> Decoration {
        let badges = TapbackBadge.badges(of: message, viewer: context.viewer)
        return Decoration(id: id, position: position, text: badges.map(\.text).joined(separator: " "))
    }
}

/// One kind of a message's tapbacks.
public struct TapbackBadge: Hashable, Sendable {
    public var kind: TapbackKind
    public var count: Int
    /// Whether it is the viewer's own.
    public var isOwn: Bool

    public var text: String { count == 1 ? kind.symbol : "\(kind.symbol) \(count)" }

    /// The most frequent first; equally frequent ones by name, so that they do not change places.
    public static func badges(of message: Message, viewer: UserID?) -> [TapbackBadge] {
        let own = viewer.flatMap { message.tapback(of: $0) }
        return message.tapbackCounts.sorted { ($1.value, $0.key.name) < ($0.value, $1.key.name) }
            .map { TapbackBadge(kind: $0.key, count: $0.value, isOwn: $0.key == own) }
    }
}

extension Message {
    /// The tapback of a user, if they are among those that the message names; the viewer always is.
    public func tapback(of user: UserID) -> TapbackKind? { tapbacks.first { $0.userId == user }?.kind }
}

extension TapbackKind {
    /// What is drawn for it: the emoji itself, or the sign of a classic kind.
    public var symbol: String {
        switch self {
        case .love: "♥"
        case .like: "👍"
        case .dislike: "👎"
        case .laugh: "😂"
        case .emphasize: "‼"
        case .question: "?"
        default: HarmlessText.line(name, limit: 8)
        }
    }
}
