import Models
import Testing

@testable import Archives

private func user(_ name: String) -> UserID { UserID(name)! }

@Suite struct ChatMembershipTests {
    private static func group(_ members: Set<UserID>) -> ChatConversation {
        ChatConversation(id: ArchiveID.group("g"), title: nil, members: members, chats: [1])
    }

    @Test("the first members follow from those of now, the changes and the writers")
    func initial() {
        let membership = ChatMembership(
            conversation: Self.group([user("ana"), user("ben")]), me: user("me"),
            changes: [.init(user: user("ben"), isAdded: true), .init(user: user("eve"), isAdded: false)],
            active: [user("ben"), user("dan")])
        #expect(membership.initial == ["me", "ana", "dan", "eve"].map(user))
    }

    @Test("what the file does not say is made up for at the end")
    func closing() {
        var membership = ChatMembership(
            conversation: Self.group([user("ana")]), me: user("me"), changes: [], active: [user("dan")])
        #expect(membership.closing(me: user("me")).map(\.user) == [user("dan")])
        let removal = ChatMembership.Change(user: user("dan"), isAdded: false)
        let changed = (membership.apply(removal), membership.apply(removal))
        #expect(changed == (true, false))
        #expect(membership.closing(me: user("me")).isEmpty)
    }

    @Test("without a list of members nobody is removed at the end")
    func unlisted() {
        let membership = ChatMembership(
            conversation: Self.group([]), me: user("me"), changes: [], active: [user("dan")])
        #expect(membership.initial == ["me", "dan"].map(user))
        #expect(membership.closing(me: user("me")).isEmpty)
    }
}

@Suite struct ChatReceiptsTests {
    @Test("receipts move forward, and who has read has received")
    func forward() {
        var receipts = ChatReceipts()
        let places = (1...3).map { ChatReceipts.Place(nanoseconds: 7, row: $0) }
        let ana = user("ana")
        let moved = [
            receipts.move(ana, .read, to: places[1]),
            receipts.move(ana, .delivered, to: places[1]),
            receipts.move(ana, .read, to: places[0]),
            receipts.move(ana, .delivered, to: places[2]),
            receipts.move(user("ben"), .delivered, to: places[0]),
            receipts.move(ana, .read, to: places[2]),
        ]
        #expect(moved == [true, false, false, true, true, true])
    }
}
