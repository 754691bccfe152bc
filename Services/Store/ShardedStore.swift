import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// A store on a database on Citus: a service for each shard, and one receiver, which passes each request on to the shard
/// of its slot.
///
/// A service knows its own shard alone: by its sessions, a row of another one is not there. So a request is served only if
/// all that it reads and writes has the slot that it names; any other kind is refused before anything is done
/// (`isServedByShard`).
@Reactor
final class ShardedStore: ShardOwnersDelegate {
    private let bus: Bus
    private let placement: Placement
    private var owners: ShardOwners!
    private var shards: [StoreShard] = []

    init(_ placement: Placement, _ configuration: StoreConfiguration, bus: Bus, log: Log) {
        self.bus = bus
        self.placement = placement
        owners = ShardOwners(
            placement, configuration.owner, schema: Schema.name, lockClass: Schema.slotLocks, delegate: self)
        shards = placement.shards.map { shard in
            StoreShard(shard, configuration, bus: bus, log: log) { [weak self] in self?.owners.giveUp($0) }
        }
        for (index, shard) in shards.enumerated() {
            shard.reads = ShardReads(index, of: placement, shard.service.queries, bus: bus) { [weak self] in
                guard let shard = self?.shards[$0], shard.isServing else { return nil }
                return shard.reads
            }
        }
        for shard in shards {
            shard.slots.onEndedSession = { log.warning("ended the session of a silent store", [LogField("pid", $0)]) }
        }
    }

    /// Where the slots are; nil unless the database is distributed. Throws if they cannot be served there.
    static func placement(of configuration: StoreConfiguration) throws -> Placement? {
        let database = try BlockingConnection(url: configuration.databaseURL, applicationName: "parley-check")
        guard let placement = try Placement(of: database) else { return nil }
        try requireMovesWithoutWrites(placement, url: configuration.databaseURL)
        return placement
    }

    /// Throws if a shard could be moved beside writes. Citus then copies it by logical replication, which has lost what was
    /// committed straight to the shard meanwhile (decision 0063). Nodes that cannot do that move shards while writes wait.
    private static func requireMovesWithoutWrites(_ placement: Placement, url: String) throws {
        for node in Set(placement.shards.map(\.node)) {
            // One that is away does not keep the others from being served.
            guard let database = try? BlockingConnection(url: url, node: node, applicationName: "parley-check") else {
                continue
            }
            let level: String = try database.query("SELECT current_setting('wal_level')")[0][0]
            guard level != "logical" else { throw MovesBesideWrites(node: node) }
        }
    }

    private struct MovesBesideWrites: Error, CustomStringConvertible {
        let node: NodeAddress

        var description: String {
            """
            \(node.host) has wal_level = logical, by which Citus moves shards beside traffic and loses messages; \
            set it to replica
            """
        }
    }

    var services: [StoreService] { shards.map(\.service) }

    func start() {
        FoldedScalar.prepare()
        bus.onFrame = { [self] frame in receive(frame) }
        owners.start()
    }

    /// Stops accepting requests and waits for the responses to accepted ones.
    func finish() async {
        bus.onFrame = { _ in }
        for service in services { await service.finishAccepted() }
    }

    /// Gives all slots away, behind a last digest of each shard.
    func drain() async {
        for shard in shards { await shard.slots.drain() }
        await owners.drain()
    }

    // MARK: Requests

    private func receive(_ frame: InboundFrame) {
        guard case .command = frame.topic else { return }
        for bytes in frame.entries { receive(bytes, in: frame) }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, in frame: InboundFrame) {
        // What cannot be read is the first one's to refuse: it has no slot.
        let entry = try? RequestEntry(bytes)
        let shard = shards[entry.map { placement.index(of: $0.slot) } ?? 0]
        shard.slots.takeRequest(bytes, of: frame) { (entry, request, bytes) throws(WireError) in
            let kind = try StoreRequestKind(of: entry, from: frame.sender)
            guard try kind.isServedByShard(entry.fields) else { return refuse(request) }
            try shard.service.receive(entry, request, in: frame, bytes)
        }
    }

    private func refuse(_ request: RequestKey) {
        bus.begin(request) { [bus] in bus.respond(to: request, .mayNeedAnotherShard) }
    }

    // MARK: ShardOwnersDelegate

    func acquired(_ slot: Slot, epoch: Int64, on node: NodeAddress) {
        shards[placement.index(of: slot)].acquired(slot, epoch: epoch, on: node)
    }

    func lost(_ slot: Slot) { shards[placement.index(of: slot)].lost(slot) }

    func ended(session: Int32) { shards[0].slots.ended(session: session) }
}

extension Problem {
    static let mayNeedAnotherShard = Problem(.unavailable, "a database on Citus does not serve this yet")
}

extension StoreRequestKind {
    /// Whether all that a request of this kind reads and writes has the slot that it names. What does not may be in
    /// another shard, on another node: see decisions 0059 and 0060.
    fileprivate func isServedByShard(_ fields: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        switch self {
        case .write:
            var reader = ByteReader(fields)
            return try Write(from: &reader).isOfOneSlot
        // Of the conversation's slot.
        case .sendMessages, .sendWithAttachments, .sendWhole, .sendSealed, .sendPoll, .expireMessages, .trimHistory:
            return true
        // Of the audit log's slot, and of the user's.
        case .recordAct, .endAct, .noteDevice: return true
        case .createConversation, .readMoved, .putSettings, .revokeTokens, .importRecords, .dropImport, .putProfile,
            .eraseUser, .eraseStep, .endDevices, .suspendUser, .sendScheduled, .sendForwarded:
            return false
        // Queries are read wherever the rows are (`ShardReads`).
        case .listConversations, .conversation, .members, .history, .message, .changes, .revisions, .tapbacks, .sync,
            .settings, .conversationSettings, .receipts, .search, .digest, .unreadTotal, .blocks, .profiles, .requests,
            .bans, .invitations, .invitation, .devices, .pinnedMessages, .joinRequests, .mentions, .scheduled, .votes,
            .forwardSource, .writtenMessages, .suspension, .reports, .report, .acts, .exportedConversations, .exportHead,
            .exportPage, .exportReceipts, .bootstrap, .replay, .privateReplay, .positions, .senderCounts, .erasedUsers,
            .revocations, .mayReadAttachment, .statement, .userRows:
            return true
        }
    }
}

extension Write {
    /// What a key is kept with, and what a user has for themselves, has the user's slot; so has what shows the conversation
    /// to its writer in the response. (The erasure of a user has it, too, which these writes look for in vain. It is not
    /// served, and its end leaves no member who could write.)
    fileprivate var isOfOneSlot: Bool {
        guard key == nil else { return false }
        return switch action {
        case .edit, .editSealed, .deleteForEveryone, .setTapback, .removeTapback, .pinMessage, .unpinMessage, .vote,
            .closePoll:
            true
        default: false
        }
    }
}
