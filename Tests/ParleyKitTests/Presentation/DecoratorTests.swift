import Models
import ParleyPresentation
import ParleyStorage
import Testing

@Suite struct DecoratorTests {
    @Test("the receipt stands under the last message one sent, and nowhere else")
    func lastSent() {
        let bubbles = [said(1, by: anna), said(2, by: anna), said(3, by: ben)]
            .bubbles(receipts: [messageId(1): receipts(.read), messageId(2): receipts(.delivered)])
        #expect(bubbles.map { $0.text(of: "read-receipt") } == [nil, "Delivered", nil])
        #expect(ReadReceiptDecorator().position == .bottomTrailing)
    }

    @Test("a message that is deleted, or on its way, is not the last one sent")
    func lastSentOfTheServer() {
        var deleted = said(2, by: anna)
        deleted.deletedForEveryone = true
        var rows = [said(1, by: anna), deleted].map { TimelineRow(message: $0) }
        rows.append(TimelineRow(message: said(3, by: anna), state: .sending))
        let bubbles = maker.bubbles(rows, receipts: [messageId(1): receipts(.sent)], now: at(0))
        #expect(bubbles.map { $0.text(of: "read-receipt") } == ["Sent", nil, nil])
    }

    @Test(
        "what a receipt says",
        arguments: [
            (receipts(.sent), "Sent", "Sent"),
            (receipts(.delivered), "Delivered", "Delivered 12:03"),
            (receipts(.read), "Read", "Read 12:05"),
            (receipts(.sent, read: 0, of: 4), "Sent", "Sent"),
            (
                receipts(.sent, read: 0, delivered: 2, of: 4), "Sent",
                "Sent to the server, delivered to 2 of 4"
            ),
            (receipts(.sent, read: 3, delivered: 3, of: 4), "Read by 3", "Read by 3 of 4, delivered to 3"),
            (receipts(.delivered, read: 3, of: 4), "Read by 3", "Read by 3 of 4"),
            (receipts(.read, read: 4, of: 4), "Read by 4", "Read by 4 12:05"),
        ] as [(MessageReceipts, String, String)])
    func receiptTexts(receipts: MessageReceipts, always: String, tapped: String) {
        let message = said(1, by: anna)
        let known = [message.id: receipts]
        #expect([message].bubbles(receipts: known)[0].text(of: "read-receipt") == always)
        #expect([message].bubbles(receipts: known, tapped: [message.id])[0].text(of: "read-receipt") == tapped)
    }

    @Test("without newer receipts, a message's own status counts; another's message has none")
    func ownStatus() {
        var message = said(1, by: anna)
        #expect([message].bubbles()[0].text(of: "read-receipt") == nil)
        message.status = .known(.delivered)
        #expect([message].bubbles()[0].text(of: "read-receipt") == "Delivered")
        let context = DecoratorContext(isLastSentMessage: true, isLastMessage: true, conversationId: talk)
        #expect(ReadReceiptDecorator().shouldDecorate(message, context: context))
        #expect(!ReadReceiptDecorator().shouldDecorate(said(1, by: ben), context: context))
    }

    @Test("tapbacks: each kind once, with its count, the most frequent first")
    func tapbacks() {
        var message = said(1)
        message.tapbackCounts = [.love: 1, .laugh: 3, .question: 1]
        message.tapbacks = [Tapback(userId: anna, kind: .love)]
        #expect([message].bubbles()[0].text(of: "tapback") == "😂 3 ♥ ?")
        #expect(TapbackBadge.badges(of: message, viewer: anna).map(\.isOwn) == [false, true, false])
        message.deletedForEveryone = true
        #expect([message].bubbles()[0].text(of: "tapback") == nil)
    }

    @Test("the time of a message is shown on tap, or always")
    func timestamps() {
        #expect([said(1)].bubbles()[0].text(of: "timestamp") == nil)
        #expect([said(1)].bubbles(tapped: [messageId(1)])[0].text(of: "timestamp") == "12:00")
        var always = maker
        always.decorators.register(TimestampDecorator(always: true))
        #expect(always.bubbles([TimelineRow(message: said(1))], now: at(0))[0].text(of: "timestamp") == "12:00")
    }

    @Test("a registry keeps the order; an id is registered once; what is removed is gone")
    func registry() {
        var registry = DecoratorRegistry.standard
        registry.register(Loud(id: "loud"))
        registry.register(Loud(id: "tapback"))
        let context = DecoratorContext(isLastSentMessage: false, isLastMessage: false, conversationId: talk)
        #expect(registry.decorations(of: said(1), context: context).map(\.id) == ["tapback", "loud"])
        registry.remove(id: "tapback")
        #expect(registry.decorations(of: said(1), context: context).map(\.id) == ["loud"])
        #expect(registry.decorator(id: "tapback") == nil)
    }
}

private struct Loud: BubbleDecorator {
    let id: String
    let position = DecoratorPosition.topLeading
    func shouldDecorate(_ message: Message, context: DecoratorContext) -> Bool { true }
    func decoration(of message: Message, context: DecoratorContext) -> Decoration {
        Decoration(id: id, position: position, text: "!")
    }
}

private func receipts(
    _ status: DeliveryStatus, read: Int? = nil, delivered: Int? = nil, of recipients: Int = 1
) -> MessageReceipts {
    MessageReceipts(
        status: status, deliveredCount: delivered ?? (status == .sent ? 0 : recipients),
        readCount: read ?? (status == .read ? recipients : 0), recipientCount: recipients,
        dateDelivered: status == .sent ? nil : at(3), dateRead: status == .read ? at(5) : nil)
}
