import Bus
import Bytes
import Models
import Postgres
import Reactor
import Slots
import Wire

/// What a receipt service on Citus asks of those who own other shards: stores for rows of users, receipt services for what is
/// theirs. All of them are asked side by side, each for what is in one shard. If one does not answer there is no answer, but for
/// settings, of which those that are known are used.
@Reactor
final class OtherShards {
    /// Who asks again does so later: signals, for one, are repeated by their senders.
    private static let deadline = Duration.seconds(2)
    /// For the settings that a batch of signals waits for, and for how long nobody is asked again who has not told them: where a
    /// node is away, the signals of others are not to wait for it each time.
    private static let patience = Duration.milliseconds(500)
    private static let rest = Duration.seconds(1)

    private let placement: Placement
    private let bus: Bus
    /// Until when shards are not asked, by their keys.
    private var resting: [Slot: MonotonicTime] = [:]

    init(_ placement: Placement, bus: Bus) {
        self.placement = placement
        self.bus = bus
    }

    /// Parts of a whole, each with the slot that stands for its shard.
    private func byShard<Element>(
        _ elements: some Sequence<Element>, limit: Int, _ slot: (Element) -> Slot
    ) -> [(slot: Slot, elements: [Element])] {
        Dictionary(grouping: elements) { placement.index(of: slot($0)) }.sorted { $0.key < $1.key }.flatMap { part in
            stride(from: 0, to: part.value.count, by: limit).map { start in
                (placement.shards[part.key].key, Array(part.value[start..<min(start + limit, part.value.count)]))
            }
        }
    }

    // MARK: Rows of users

    /// The settings of users, as `advance_horizons` borrows them: now, and not as they were. Whoever has turned read receipts
    /// off, and been told so, is found to have done that.
    func settings(of users: some Sequence<UserID>) async -> (rows: [UInt8], unknown: Set<UserID>) {
        let parts = byShard(users, limit: SeenUsers.limit) { $0.slot }
        let asked = parts.filter { part in resting[part.slot].map { $0 <= .now } ?? true }
        var unknown = Set(parts.filter { part in !asked.contains { $0.slot == part.slot } }.flatMap(\.elements))
        let answers = await gather(asked.count) { [bus] place, completion in
            let query = UserRowsQuery([Tables.settings], of: asked[place].elements)
            bus.request(
                .userRows, in: asked[place].slot, deadline: Self.patience, fields: { query.write(to: &$0) },
                completion: completion)
        } read: { (reader) throws(WireError) in
            try UserRowsAnswer(from: &reader)
        }
        for (part, answer) in zip(asked, answers) {
            resting[part.slot] = answer == nil ? .now + Self.rest : nil
            if answer == nil { unknown.formUnion(part.elements) }
        }
        return (UserRowsAnswer.joined(answers.compactMap { $0?.rows(of: Tables.settings) }), unknown)
    }

    /// The same where all of them are needed.
    func allSettings(of users: some Sequence<UserID>) async throws(DatabaseError) -> [UInt8] {
        let (rows, unknown) = await settings(of: users)
        guard unknown.isEmpty else { throw .otherShardIsAway }
        return rows
    }

    /// The rows of users' lists that say how far they were told that they have read.
    func told(of keys: [HorizonKey]) async throws(DatabaseError) -> [UInt8] {
        let parts = byShard(keys, limit: SeenUsers.limit) { $0.user.slot }
        let answers = try await gatherAll(parts.count) { [bus] place, completion in
            let users = Set(parts[place].elements.map(\.user))
            let conversations = Set(parts[place].elements.map(\.conversation))
            let query = UserRowsQuery([Tables.told], of: Array(users), in: Array(conversations))
            bus.request(
                .userRows, in: parts[place].slot, deadline: Self.deadline, fields: { query.write(to: &$0) },
                completion: completion)
        } read: { (reader) throws(WireError) in
            try UserRowsAnswer(from: &reader)
        }
        return UserRowsAnswer.joined(answers.map { $0.rows(of: Tables.told) })
    }

    private enum Tables {
        static let settings = "store.user_settings"
        /// Of the rows of `store.inbox`, what is published of them.
        static let told = "store.published_inbox"
    }

    // MARK: When users were online

    /// The other members of a user's latest direct conversations, those with the latest activity first.
    func peers(of user: UserID, in conversations: [ConversationID]) async throws(DatabaseError) -> [UserID] {
        let parts = byShard(conversations, limit: PeersQuery.limit) { $0.slot }
        let answers = try await gatherAll(parts.count) { [bus] place, completion in
            let query = PeersQuery(of: user, in: parts[place].elements)
            bus.request(
                ReceiptRequestKind.peers, in: parts[place].slot, deadline: Self.deadline,
                fields: { query.write(to: &$0) }, completion: completion)
        } read: { (reader) throws(WireError) in
            try Peers(from: &reader)
        }
        let latest = answers.flatMap(\.peers).sorted { ($1.lastAt, $0.user) < ($0.lastAt, $1.user) }
        return latest.prefix(LastSeenStatements.peersLimit).map(\.user)
    }

    func lastSeen(_ users: [UserID]) async throws(DatabaseError) -> [PresenceList.Departure] {
        let parts = byShard(users, limit: SeenUsers.limit) { $0.slot }
        return try await gatherAll(parts.count) { [bus] place, completion in
            let query = SeenUsers(parts[place].elements)
            bus.request(
                ReceiptRequestKind.seenPeers, in: parts[place].slot, deadline: Self.deadline,
                fields: { query.write(to: &$0) }, completion: completion)
        } read: { (reader) throws(WireError) in
            try LastSeen(from: &reader)
        }.flatMap(\.departures)
    }

    /// Removes when an erased user was online.
    func forgetSeen(_ user: UserID) async throws(DatabaseError) {
        let outcome = await bus.request(ReceiptRequestKind.forgetSeen, in: user.slot, deadline: Self.deadline) {
            LastSeenQuery(user).write(to: &$0)
        }
        guard case .response(let response) = outcome, response.status == 204 else { throw .otherShardIsAway }
    }

    // MARK: Asking

    @Reactor private final class Gathering {
        var outcomes: [RequestOutcome?]
        var missing: Int

        init(_ count: Int) {
            outcomes = Array(repeating: nil, count: count)
            missing = count
        }
    }

    /// Sends all requests, and waits for all answers; nil of those without one.
    private func gather<Answer>(
        _ count: Int, _ send: (Int, @escaping @Reactor (RequestOutcome) -> Void) -> Void,
        read: (inout ByteReader) throws(WireError) -> Answer
    ) async -> [Answer?] {
        guard count > 0 else { return [] }
        let gathering = Gathering(count)
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            for place in 0..<count {
                send(place) { outcome in
                    gathering.outcomes[place] = outcome
                    gathering.missing -= 1
                    if gathering.missing == 0 { continuation.resume() }
                }
            }
        }
        return gathering.outcomes.map { outcome in
            guard case .response(let response)? = outcome, response.status == 200 else { return nil }
            var reader = ByteReader(response.payload.bytes)
            return try? read(&reader)
        }
    }

    private func gatherAll<Answer>(
        _ count: Int, _ send: (Int, @escaping @Reactor (RequestOutcome) -> Void) -> Void,
        read: (inout ByteReader) throws(WireError) -> Answer
    ) async throws(DatabaseError) -> [Answer] {
        let answers = await gather(count, send, read: read).compactMap { $0 }
        guard answers.count == count else { throw .otherShardIsAway }
        return answers
    }
}

extension DatabaseError {
    fileprivate static let otherShardIsAway = DatabaseError(
        .connectionFailure, "what is in another shard is not known: nobody answers")
}
