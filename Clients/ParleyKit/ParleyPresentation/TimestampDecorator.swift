import Models

/// The time of a message, where it was tapped, or always.
public struct TimestampDecorator: BubbleDecorator {
    public let id = "timestamp"
    public let position = DecoratorPosition.bottomLeading
    private let isAlwaysShown: Bool

    public init(always isAlwaysShown: Bool = false) { self.isAlwaysShown = isAlwaysShown }

    public func shouldDecorate(_ message: Message, context: DecoratorContext) -> Bool {
        isAlwaysShown || context.isTapped
    }

    public func decoration(of message: Message, context: DecoratorContext) -> Decoration {
        Decoration(id: id, position: position, text: context.times.time(message.createdAt))
    }
}
