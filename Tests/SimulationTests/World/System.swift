import Bus
import Models
import Reactor
import ServiceKit

@testable import Fanout
@testable import Ingest

/// The processes of a deployment, its database and its users.
@Reactor
final class System {
    static let signer = TokenSigner(secret: Service.secret)

    let world: World
    let network: Network
    private(set) var database: Database!
    private(set) var clients: [Client] = []
    let conversations: [ConversationID]
    let users: [UserID]
    var promises = Promises()
    /// The number of times that clients learned that missed private changes are no longer kept.
    var privateReloads = 0
    private var ledgers: [ConversationID: (ledger: Ledger, read: Int)] = [:]
    private var processes: [(node: Node, service: Service)] = []
    private var counts: [Node.Kind: Int] = [.ingest: 2, .store: 2, .receipt: 1, .fanout: 2]
    private var started = 0

    init(_ world: World) {
        self.world = world
        network = Network(world)
        conversations = (0..<2).map { number in
            // Half of the time, one of them shares a group of slots with the other.
            let slot: UInt64 = number == 0 ? 0x11 : world.chance(0.5) ? 0x12 : 0x51
            return ConversationID(
                UUIDBytes(high: 0x0190_0000_0000_7000 + UInt64(number), low: 0x8000_0000_0000_0000 | slot))
        }
        users = ["alice", "bob", "carol", "dave"].map { UserID($0)! }
        database = Database(world, tables())
        if world.chance(0.4) { counts[.receipt] = 2 }
        for kind in Node.Kind.allCases {
            for _ in 0..<counts[kind]! { start(kind) }
        }
        clients = users.map { Client($0, in: self) }
    }

    /// The initial tables. Alice and bob stay in both conversations. Carol and dave come and go.
    private func tables() -> Tables {
        var tables = Tables()
        let at = Timestamp(milliseconds: 1_699_999_999_000)
        for (number, id) in conversations.enumerated() {
            var conversation = Tables.Conversation(lastAt: at, createdAt: at, statusAt: at)
            conversation.entries = [Tables.Entry(seq: 1, at: at, actor: users[0], content: .created)]
            for user in users.prefix(2 + number) {
                let role: Int16 = user == users[0] ? 2 : 1
                conversation.stays[user] = [Tables.Stay(from: 1, through: nil, role: role)]
                tables.users[user, default: Tables.User()].told[id] = 0
                _ = tables.users[user]!.tell(.conversationJoined, at, id, 0)
            }
            tables.conversations[id] = conversation
        }
        let slots = Set(conversations.map(\.slot) + users.map(\.slot))
        for schema in ["store", "receipt"] {
            for slot in slots { tables.epochs[schema, default: [:]][slot] = 0 }
        }
        return tables
    }

    // MARK: Log

    func lastSeq(_ conversation: ConversationID) -> Int64 { database.tables.conversations[conversation]!.lastSeq }

    /// The current expected state of a conversation.
    func ledger(_ id: ConversationID) -> Ledger? {
        guard let entries = database.tables.conversations[id]?.entries else { return nil }
        let members = users.prefix(2 + (conversations.firstIndex(of: id) ?? 0))
        var known = ledgers[id] ?? (Ledger(members: Array(members)), 0)
        // The ledger starts over if commits were lost.
        if known.read > entries.count { known = (Ledger(members: Array(members)), 0) }
        ledgers[id] = nil
        for entry in entries[known.read...] { known.ledger.read(entry) }
        known.read = entries.count
        ledgers[id] = known
        if let violation = known.ledger.violation { world.violated(violation) }
        return known.ledger
    }

    // MARK: Processes

    func start(_ kind: Node.Kind) {
        started += 1
        world.note("\(kind) \(started) starts")
        let node = Node(kind, started, in: world, on: network)
        processes.append((node, Service.start(kind, on: node, database)))
    }

    /// Returns any live process of this kind.
    func node(_ kind: Node.Kind) -> Node? {
        let alive = processes.filter { $0.node.kind == kind && $0.node.isAlive }
        return alive.isEmpty ? nil : alive[world.pick(0...alive.count - 1)].node
    }

    func fanout() -> (Node, Gateway)? {
        guard let node = node(.fanout), case .fanout(let fanout)? = service(of: node) else { return nil }
        return (node, fanout.gateway)
    }

    func ingest() -> (Node, IngestService)? {
        guard let node = node(.ingest), case .ingest(let ingest)? = service(of: node) else { return nil }
        return (node, ingest)
    }

    private func service(of node: Node) -> Service? { processes.first { $0.node === node }?.service }

    func kill(_ node: Node) {
        world.note("\(node.kind) \(node.number) dies")
        node.kill()
        network.remove(node.medium)
        database.processDied(node)
        processes.removeAll { $0.node === node }
    }

    func drain(_ node: Node) { service(of: node)?.drain(node) }

    /// Restarts missing processes and removes all partitions. Stopped processes continue on their own.
    func heal() {
        world.note("all faults end")
        world.isFaulty = false
        network.heal()
        for kind in Node.Kind.allCases {
            while isMissing(kind) { start(kind) }
        }
    }

    func isAlone(_ kind: Node.Kind) -> Bool { processes.count { $0.node.kind == kind } < 2 }

    func isMissing(_ kind: Node.Kind) -> Bool { processes.count { $0.node.kind == kind } < counts[kind]! }

    /// Releases everything.
    func end() {
        world.end()
        for (node, _) in processes { node.kill() }
        processes = []
        clients = []
    }
}
