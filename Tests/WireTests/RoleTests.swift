import Models
import Testing
import Wire

@Suite struct RoleTests {
    @Test("only ingest may ask a store to write for users, and receipt only to note what was read")
    func storeRequests() {
        for kind in StoreRequestKind.allCases where kind.isCommand {
            let allowed = Role.allCases.filter { kind.mayBeAsked(by: $0) }
            #expect(allowed == [kind == .readMoved ? .receipt : .ingest], "\(kind)")
        }
        for kind in StoreRequestKind.allCases {
            #expect(Role.allCases.filter { kind.mayBeAsked(by: $0) }.count == 1, "\(kind)")
        }
    }

    @Test("a topic is published by roles whose frames somebody takes, and nobody publishes all")
    func topics() {
        let group = SlotGroup(0)
        let topics: [Topic] = [
            .command(group), .receiptCommand(group), .answer(.random()), .change(group), .privateChange(group),
            .status(group), .digest(group), .receiptDigest(group), .ephemeral(group),
        ]
        for topic in topics {
            let publishers = Role.allCases.filter { topic.mayBePublished(by: $0) }
            #expect(!publishers.isEmpty && publishers.count < Role.allCases.count, "\(topic)")
            #expect(publishers.allSatisfy { !$0.listeners.isEmpty })
        }
        #expect(Role.fanout.listeners == [.store, .receipt, .fanout])
        #expect(Role.ingest.listeners == [.store, .receipt])
    }
}
