import Models
import Testing
import Wire

@Suite struct RoleTests {
    @Test(
        "only ingest may ask a store to write for users, receipt only to note what was read, stores only for steps of erasures"
    )
    func storeRequests() {
        let expected: [StoreRequestKind: Role] = [.readMoved: .receipt, .eraseStep: .store]
        for kind in StoreRequestKind.allCases where kind.isCommand {
            let allowed = Role.allCases.filter { kind.mayBeAsked(by: $0) }
            #expect(allowed == [expected[kind] ?? .ingest], "\(kind)")
        }
        for kind in StoreRequestKind.allCases where kind != .erasedUsers && kind != .revocations {
            #expect(Role.allCases.filter { kind.mayBeAsked(by: $0) }.count == 1, "\(kind)")
        }
    }

    @Test("only stores may have receipts erased")
    func receiptRequests() {
        #expect(Role.allCases.filter { ReceiptRequestKind.erase.mayBeAsked(by: $0) } == [.store])
    }

    @Test("a topic is published by roles whose frames somebody takes, and nobody publishes all")
    func topics() {
        let group = SlotGroup(0)
        let topics: [Topic] = [
            .command(group), .receiptCommand(group), .answer(.random()), .change(group), .privateChange(group),
            .status(group), .digest(group), .receiptDigest(group), .ephemeral(group), .erasure(group),
            .revocation(group),
        ]
        for topic in topics {
            let publishers = Role.allCases.filter { topic.mayBePublished(by: $0) }
            #expect(!publishers.isEmpty, "\(topic)")
            // Every role asks stores for something; each request is looked at by itself.
            #expect(publishers.count < Role.allCases.count || topic == .command(group), "\(topic)")
            #expect(publishers.allSatisfy { !$0.listeners.isEmpty })
        }
        #expect(Role.fanout.listeners == [.store, .receipt, .fanout])
        #expect(Role.ingest.listeners == [.store, .receipt])
    }
}
