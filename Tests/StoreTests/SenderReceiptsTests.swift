import Models
import Testing

@testable import Store

private let alice = UserID("alice")!
private let bob = UserID("bob")!

/// Returns receipts where all five members have received, and three have read, each message.
private func receipts(of messages: [(seq: Int64, sender: UserID)]) -> SenderReceipts {
    var receipts = SenderReceipts(messages)
    receipts.count(messages.map { _ in Receipts(recipients: 5, delivered: 5, read: 3) })
    return receipts
}

@Suite struct SenderReceiptsTests {
    @Test("a sender's own horizon is taken off their own messages alone, as far as it reaches")
    func ownHorizon() {
        var receipts = receipts(of: [(2, alice), (3, bob), (4, alice), (6, alice)])
        receipts.discount(alice, stay: 1...9, delivered: 4, read: 2)
        #expect(receipts.receipts.map(\.delivered) == [4, 5, 4, 5])
        #expect(receipts.receipts.map(\.read) == [2, 3, 3, 3])
    }

    @Test("messages of an earlier stay are not taken off by the horizon of a later one")
    func stays() {
        var receipts = receipts(of: [(2, alice), (7, alice)])
        receipts.discount(alice, stay: 5...9, delivered: 9, read: 9)
        #expect(receipts.receipts.map(\.delivered) == [5, 4])
    }

    @Test("of each sender the latest fifty are told")
    func latest() {
        let receipts = receipts(of: (1...120).map { (Int64($0), $0 % 2 == 0 ? alice : bob) })
        #expect(receipts.bySender[alice]?.map { receipts.seqs[$0] } == (11...60).map { Int64(2 * $0) })
        #expect(receipts.bySender[bob]?.count == 50)
    }
}
