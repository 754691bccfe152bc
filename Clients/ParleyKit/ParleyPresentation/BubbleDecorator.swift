import Models
import ParleyStorage

/// Something small beside a message's text, such as its tapbacks or how far it got.
public protocol BubbleDecorator: Sendable {
    /// Unique in a registry.
    var id: String { get }
    var position: DecoratorPosition { get }
    func shouldDecorate(_ message: Message, context: DecoratorContext) -> Bool
    /// What it shows. Only called where it should decorate.
    func decoration(of message: Message, context: DecoratorContext) -> Decoration
}

/// Where a decoration is, from the text.
public enum DecoratorPosition: Hashable, Sendable {
    case topLeading, topTrailing, bottomLeading, bottomTrailing
}

/// What decorators know beside the message.
public struct DecoratorContext: Sendable {
    /// Whether no later message of the viewer has reached the server.
    public var isLastSentMessage: Bool
    public var isLastMessage: Bool
    public var conversationId: ConversationID
    /// Who looks at it; nil shows what a sender sees.
    public var viewer: UserID?
    /// How far the message got, where that is newer than what the message itself says.
    public var receipts: MessageReceipts?
    /// Whether the user tapped the message, for what is not worth showing always.
    public var isTapped: Bool
    public var times: LocalTimes

    public init(
        isLastSentMessage: Bool, isLastMessage: Bool, conversationId: ConversationID, viewer: UserID? = nil,
        receipts: MessageReceipts? = nil, isTapped: Bool = false, times: LocalTimes = LocalTimes()
    ) {
        self.isLastSentMessage = isLastSentMessage
        self.isLastMessage = isLastMessage
        self.conversationId = conversationId
        self.viewer = viewer
        self.receipts = receipts
        self.isTapped = isTapped
        self.times = times
    }
}

/// What a decorator shows on a message.
public struct Decoration: Hashable, Sendable, Identifiable {
    /// The decorator's.
    public var id: String
    public var position: DecoratorPosition
    public var text: String

    public init(id: String, position: DecoratorPosition, text: String) {
        self.id = id
        self.position = position
        self.text = text
    }
}

/// The decorators of an application, in the order in which they were registered.
public struct DecoratorRegistry: Sendable {
    private var decorators: [any BubbleDecorator] = []

    /// An empty registry; `standard` has what most applications show.
    public init() {}

    /// Tapbacks, the time of a tapped message, and how far the last message got.
    public static var standard: DecoratorRegistry {
        var registry = DecoratorRegistry()
        registry.register(TapbackDecorator())
        registry.register(TimestampDecorator())
        registry.register(ReadReceiptDecorator())
        return registry
    }

    /// Adds a decorator, in the place of the one with its id if there is one.
    public mutating func register(_ decorator: any BubbleDecorator) {
        if let index = decorators.firstIndex(where: { $0.id == decorator.id }) {
            decorators[index] = decorator
        } else {
            decorators.append(decorator)
        }
    }

    public mutating func remove(id: String) { decorators.removeAll { $0.id == id } }

    public func decorator(id: String) -> (any BubbleDecorator)? { decorators.first { $0.id == id } }

    public func decorations(of message: Message, context: DecoratorContext) -> [Decoration] {
        decorators.filter { $0.shouldDecorate(message, context: context) }
            .map { $0.decoration(of: message, context: context) }
    }
}
