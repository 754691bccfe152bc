import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Finds out who may read a file: its uploader, and whoever may see a message that carries it. The stores decide on that.
///
/// What was allowed is kept for some seconds, and dropped at once when the conversation or the reader's own view of it
/// changes. What was refused is not kept: a message may be sent in the next moment.
@Reactor
final class Readers {
    /// For this long a frame of a change may be lost without being missed.
    static let lifetime = Duration.seconds(3)
    /// Entries that are kept; when there are more, the cache begins anew.
    private static let capacity = 65_536
    /// Messages that are asked about at a time.
    private static let carriersAtOnce = 8
    /// Messages that are asked about altogether, the latest of them.
    private static let carriersLimit: Int64 = 256
    private static let deadline = Duration.seconds(5)

    private struct Key: Hashable {
        /// Nil: whoever has a signed address.
        let reader: UserID?
        let media: MediaID
    }

    private struct Grant {
        let object: MediaObject
        let until: MonotonicTime
        /// Where the message is; nil for its uploader and signed addresses.
        let conversation: ConversationID?
    }

    private let bus: Bus
    private let database: MediaDatabase
    private let log: Log
    private var grants: [Key: Grant] = [:]
    /// The keys of grants that a change takes back, and of those that a store is being asked for.
    private var byConversation: [ConversationID: Set<Key>] = [:]
    private var byReader: [UserID: Set<Key>] = [:]
    private var byMedia: [MediaID: Set<Key>] = [:]
    /// Requests to stores that a change has overtaken find their number gone.
    private var asking: [Key: UInt64] = [:]
    private var lastAsked: UInt64 = 0
    private(set) var asked = 0

    init(_ database: MediaDatabase, bus: Bus, log: Log) {
        self.database = database
        self.bus = bus
        self.log = log
        Reactor.every(.seconds(10)) { [weak self] in self?.forgetOld(at: .now) }
    }

    func start() {
        for group in SlotGroup.all {
            bus.subscribe(.change(group))
            bus.subscribe(.privateChange(group))
        }
    }

    // MARK: Asking

    /// The file, if this user may read it. To everybody else it does not exist.
    func object(_ id: MediaID, for reader: UserID) async throws(Reply) -> MediaObject {
        if let object = kept(Key(reader: reader, media: id)) { return object }
        let object = try await row(id)
        if object.uploader == reader {
            keep(object, Key(reader: reader, media: id), nil)
            return object
        }
        guard object.state == .ready, try await isCarried(object, for: reader) else { throw .notFound }
        return object
    }

    /// The file, for the bearer of a signed address.
    func object(signed id: MediaID) async throws(Reply) -> MediaObject {
        let key = Key(reader: nil, media: id)
        if let object = kept(key) { return object }
        let object = try await row(id)
        keep(object, key, nil)
        return object
    }

    /// The file of its uploader, as it is now.
    func current(_ id: MediaID, of uploader: UserID) async throws(Reply) -> MediaObject {
        let object = try await row(id)
        guard object.uploader == uploader else { throw .notFound }
        return object
    }

    private func row(_ id: MediaID) async throws(Reply) -> MediaObject {
        do {
            let rows = try await database.reading(id.slot).query(MediaStatements.object) { $0.set($1, to: id) }
            guard let row = rows.first else { throw Reply.notFound }
            return MediaObject(row, MediaStatements.object.columns)
        } catch let reply as Reply {
            throw reply
        } catch {
            log.warning("query failed", [LogField("reason", "\(error)")])
            throw .unavailable
        }
    }

    private struct Carrier: Sendable {
        let conversation: ConversationID
        let message: MessageID
    }

    private func isCarried(_ object: MediaObject, for reader: UserID) async throws(Reply) -> Bool {
        var offset: Int64 = 0
        while offset < Self.carriersLimit {
            let carriers = try await carriers(of: object.id, from: offset)
            for carrier in carriers where try await mayRead(object, carrier, reader) { return true }
            guard carriers.count == Self.carriersAtOnce else { return false }
            offset += Int64(carriers.count)
        }
        return false
    }

    private func carriers(of id: MediaID, from offset: Int64) async throws(Reply) -> [Carrier] {
        let columns = MediaStatements.carriers.columns
        do {
            return try await database.reading(id.slot).query(MediaStatements.carriers) { parameters, input in
                parameters.set(input.slot, to: id.slot)
                parameters.set(input.id, to: id)
                parameters.set(input.limit, to: Int64(Self.carriersAtOnce))
                parameters.set(input.offset, to: offset)
            }.map { Carrier(conversation: $0[columns.conversationId], message: $0[columns.messageId]) }
        } catch {
            log.warning("query failed", [LogField("reason", error.debugDescription)])
            throw .unavailable
        }
    }

    private func mayRead(_ object: MediaObject, _ carrier: Carrier, _ reader: UserID) async throws(Reply) -> Bool {
        let key = Key(reader: reader, media: object.id)
        lastAsked += 1
        let number = lastAsked
        asking[key] = number
        index(key, carrier.conversation)
        defer { if asking[key] == number { asking[key] = nil } }
        guard
            let mayRead = await ask(
                MayReadAttachment(
                    object.id, of: carrier.message, by: object.uploader, in: carrier.conversation, reader: reader))
        else { throw Reply(Problem(.unavailable, "no store says at the moment who may read this")) }
        if mayRead, asking[key] == number { keep(object, key, carrier.conversation) }
        return mayRead
    }

    /// Whether a message carries a file, for its reader; nil if no store has responded.
    func ask(_ query: MayReadAttachment) async -> Bool? {
        asked += 1
        let outcome = await bus.request(
            .mayReadAttachment, in: query.conversation.slot, deadline: Self.deadline,
            fields: { query.write(to: &$0) })
        guard case .response(let response) = outcome, response.status == 200, response.payload.bytes.count == 1 else {
            return nil
        }
        return response.payload.bytes[0] == 1
    }

    // MARK: Keeping

    private func kept(_ key: Key) -> MediaObject? {
        guard let grant = grants[key], .now < grant.until else { return nil }
        return grant.object
    }

    private func keep(_ object: MediaObject, _ key: Key, _ conversation: ConversationID?) {
        // Only what changes no more by itself.
        guard object.state == .ready else { return }
        if grants.count >= Self.capacity { forgetEverything() }
        grants[key] = Grant(object: object, until: .now + Self.lifetime, conversation: conversation)
        index(key, conversation)
    }

    private func index(_ key: Key, _ conversation: ConversationID?) {
        if let conversation { byConversation[conversation, default: []].insert(key) }
        if let reader = key.reader { byReader[reader, default: []].insert(key) }
        byMedia[key.media, default: []].insert(key)
    }

    private func forgetEverything() {
        grants = [:]
        byConversation = [:]
        byReader = [:]
        byMedia = [:]
        asking = [:]
    }

    private func forget(_ keys: Set<Key>) {
        for key in keys {
            grants[key] = nil
            asking[key] = nil
        }
    }

    private func forgetOld(at now: MonotonicTime) {
        let kept = grants.filter { now < $0.value.until }
        guard kept.count < grants.count || grants.isEmpty else { return }
        // What is being asked for is allowed once and not kept.
        forgetEverything()
        grants = kept
        for (key, grant) in kept { index(key, grant.conversation) }
    }

    /// Forgets a file that is changed or gone.
    func forget(_ id: MediaID) {
        if let keys = byMedia.removeValue(forKey: id) { forget(keys) }
    }

    // MARK: Changes

    func receive(_ frame: InboundFrame) {
        guard !byReader.isEmpty else { return }
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            switch frame.topic {
            case .change:
                guard let change = try? ChangeEntry(from: &reader) else { return bus.refuseEntry(of: frame) }
                if let keys = byConversation.removeValue(forKey: change.conversation) { forget(keys) }
            case .privateChange:
                guard let change = try? PrivateEntry(from: &reader) else { return bus.refuseEntry(of: frame) }
                if let keys = byReader.removeValue(forKey: change.user) { forget(keys) }
            default: return
            }
        }
    }
}
