import Models
import Testing
import Wire

@Suite struct RoleTests {
    @Test(
        "only ingest may write for users, receipt only send read positions, stores only request steps of erasures"
    )
    func storeRequests() {
        let expected: [StoreRequestKind: Role] = [.readMoved: .receipt, .eraseStep: .store]
        for kind in StoreRequestKind.allCases where kind.isCommand {
            let allowed = Role.allCases.filter { kind.mayBeRequested(by: $0) }
            #expect(allowed == [expected[kind] ?? .ingest], "\(kind)")
        }
        for kind in StoreRequestKind.allCases where kind != .erasedUsers && kind != .revocations {
            #expect(Role.allCases.filter { kind.mayBeRequested(by: $0) }.count == 1, "\(kind)")
        }
    }

    @Test("only stores may erase receipts")
    func receiptRequests() {
        #expect(Role.allCases.filter { ReceiptRequestKind.erase.mayBeRequested(by: $0) } == [.store])
    }

    @Test("a topic is published only by roles that have subscribers, and no role publishes all topics")
    func topics() {
        let group = SlotGroup(0)
        let topics: [Topic] = [
            .command(group), .receiptCommand(group), .response(.random()), .change(group), .privateChange(group),
            .status(group), .digest(group), .receiptDigest(group), .ephemeral(group), .erasure(group),
            .revocation(group),
        ]
        for topic in topics {
            let publishers = Role.allCases.filter { topic.mayBePublished(by: $0) }
            #expect(!publishers.isEmpty, "\(topic)")
            // Every role sends requests to stores; each request is checked separately.
            #expect(publishers.count < Role.allCases.count || topic == .command(group), "\(topic)")
            #expect(publishers.allSatisfy { !$0.listeners.isEmpty })
        }
        #expect(Role.fanout.listeners == [.store, .receipt, .fanout])
        #expect(Role.ingest.listeners == [.store, .receipt])
    }
}
