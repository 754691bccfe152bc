import Models
import ParleyStorage

/// How far the last message that the user sent got: "Sent", "Delivered" or "Read", with the time when tapped; in groups
/// "Read by 3".
public struct ReadReceiptDecorator: BubbleDecorator {
    public let id = "read-receipt"
    public let position = DecoratorPosition.bottomTrailing

    public init() {}

    public func shouldDecorate(_ message: Message, context: DecoratorContext) -> Bool {
        let isOwn = context.viewer.map { $0 == message.senderId } ?? true
        return context.isLastSentMessage && isOwn && !message.deletedForEveryone
            && Progress(message, context.receipts).status != .none
    }

    public func decoration(of message: Message, context: DecoratorContext) -> Decoration {
        let progress = Progress(message, context.receipts)
        let text = [progress.text, context.isTapped ? progress.detail(context.times) : nil]
        return Decoration(id: id, position: position, text: text.compactMap(\.self).joined(separator: " "))
    }
}

/// The receipts of a message: what the message says itself, or what is newer.
private struct Progress {
    let status: DeliveryStatus
    private let read: Int
    private let delivered: Int
    private let recipients: Int
    private let dateRead: Timestamp?
    private let dateDelivered: Timestamp?

    init(_ message: Message, _ receipts: MessageReceipts?) {
        status = receipts?.status ?? message.deliveryStatus
        read = receipts?.readCount ?? message.readCount ?? 0
        delivered = receipts?.deliveredCount ?? message.deliveredCount ?? 0
        recipients = receipts?.recipientCount ?? message.recipientCount ?? 1
        dateRead = receipts?.dateRead ?? message.dateRead
        dateDelivered = receipts?.dateDelivered ?? message.dateDelivered
    }

    private var isGroup: Bool { recipients > 1 }

    var text: String {
        if isGroup, read > 0 { return "Read by \(read)" }
        return switch status {
        case .none: ""
        case .sent: "Sent"
        case .delivered: "Delivered"
        case .read: "Read"
        }
    }

    /// The time of the state, or how many it is still on its way to.
    func detail(_ times: LocalTimes) -> String? {
        switch status {
        case .read: dateRead.map(times.time)
        case .delivered where !isGroup || read == 0: dateDelivered.map(times.time)
        case .delivered: "of \(recipients)"
        case .sent where isGroup && read > 0: "of \(recipients), delivered to \(delivered)"
        case .sent where isGroup && delivered > 0: "to the server, delivered to \(delivered) of \(recipients)"
        case .sent, .none: nil
        }
    }
}
