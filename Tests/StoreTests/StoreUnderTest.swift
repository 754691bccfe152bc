import Bus
import Bytes
import Foundation
import JSON
import Models
import Postgres
import PostgresSupport
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Receipt
@testable import enum Receipt.Schema
@testable import Store

/// A store with a real bus and its own database, and a client of it.
@Reactor
final class StoreUnderTest {
    let database: TestDatabase
    private(set) var store: StoreService
    private(set) var receipt: ReceiptService?
    private var bus: Bus
    private var receiptBus: Bus?
    private let client: Bus
    private let directory: String
    private(set) var changes: [(conversation: ConversationID, seq: Int64, json: String)] = []
    private(set) var privateChanges: [(user: UserID, useq: Int64, json: String)] = []
    private(set) var digests: [DigestEntry] = []
    /// What open clients are told of profiles.
    private(set) var profileNews: [ProfileNews] = []
    /// What media, which the client plays, was told.
    private(set) var released: [ReleaseMedia] = []
    private(set) var mediaErased: [UserID] = []
    /// Whether media responds to nothing.
    var isMediaAway = false

    private let settings: [String: String]

    /// - Parameters:
    ///   - settings: the store's environment variables.
    ///   - sql: run in the database before the store connects.
    init(layout: Layout = .plain, settings: [String: String] = [:], preparedBy sql: String = "") async throws {
        self.settings = settings
        // The store's queries read the horizons.
        database = try TestDatabase(
            migratedBy: [Store.Schema.migrator, Schema.migrator], layout: layout)
        try database.execute(sql)
        directory =
            FileManager.default.temporaryDirectory.appending(path: "parley-\(UInt64.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        bus = try Bus(bind: "ipc://\(directory)/store.sock")
        client = try Bus(bind: "ipc://\(directory)/client.sock")
        store = try Self.makeStore(database, bus, settings)
        try listen()
        try await start()
    }

    private static func makeStore(
        _ database: TestDatabase, _ bus: Bus, _ settings: [String: String]
    ) throws -> StoreService {
        StoreService(try makeConfiguration(database, settings), bus: bus, log: Log(service: "store", level: .error))
    }

    private static func makeConfiguration(
        _ database: TestDatabase, _ settings: [String: String] = [:]
    ) throws -> StoreConfiguration {
        var environment = Environment(settings.merging(["PARLEY_DATABASE_URL": database.url]) { $1 })
        return try StoreConfiguration(environment: &environment)
    }

    private func start() async throws {
        try bus.follow(
            try Endpoint.parse(
                list: "ipc://\(directory)/client.sock,ipc://\(directory)/store*.sock,ipc://\(directory)/receipt.sock"))
        bus.receivesOwnFrames = true
        store.start()
        // A query that comes before its connection is up is returned, and gets its response when repeated.
        while store.slots.count < Slot.count || !isConnected {
            await Reactor.sleep(for: .milliseconds(5))
        }
        // A client that got a response is subscribed to the store, so the first response awaited by a test is not lost.
        _ = await client.request(StoreRequestKind.positions, in: Slot(0), deadline: .seconds(60)) {
            $0.append(bigEndian: UInt32(0))
        }
    }

    /// Whether the connections are up that write and respond. One that is preparing its statements holds locks on all tables,
    /// for which a test that locks one would wait in the very thread that prepares.
    private var isConnected: Bool {
        let writing = [store.writer, store.backgroundWriter].map(\.connection)
        let queries = [store.queries.connection, store.queries.searching.connection].flatMap(\.connections)
        return (writing + queries).allSatisfy(\.isUp)
    }

    /// Ends the store as a crash would and starts another one.
    func crash() async throws {
        bus.close()
        store.closeConnections()
        bus = try Bus(bind: "ipc://\(directory)/store-\(UInt64.random(in: 0 ... .max)).sock")
        store = try Self.makeStore(database, bus, settings)
        try await start()
    }

    /// Makes another indexer of the same database, as a second store would have.
    func secondIndexer() throws -> SearchIndexer {
        let indexer = SearchIndexer(
            Connection(try Self.makeConfiguration(database).indexer), texts: TextTurns(),
            log: Log(service: "second", level: .error),
            isWriterIdle: { true }, lastRead: { MonotonicTime(nanoseconds: 0) })
        indexer.connection.open()
        return indexer
    }

    /// Starts a receipt service next to the store.
    func startReceipt() async throws {
        let bus = try Bus(bind: "ipc://\(directory)/receipt.sock")
        var environment = Environment(["PARLEY_DATABASE_URL": database.url])
        let service = ReceiptService(
            try ReceiptConfiguration(environment: &environment), bus: bus, log: Log(service: "receipt", level: .error))
        try bus.follow(try Endpoint.parse(list: "ipc://\(directory)/client.sock,ipc://\(directory)/store*.sock"))
        service.start()
        (receipt, receiptBus) = (service, bus)
        while service.slots.count < Slot.count { await Reactor.sleep(for: .milliseconds(5)) }
    }

    private func listen() throws {
        try client.follow(try Endpoint.parse(list: "ipc://\(directory)/store*.sock,ipc://\(directory)/receipt.sock"))
        for group in SlotGroup.all {
            client.subscribe(.change(group))
            client.subscribe(.privateChange(group))
            client.subscribe(.digest(group))
            client.subscribe(.ephemeral(group))
            client.subscribe(.mediaCommand(group))
        }
        client.onFrame = { [unowned self] frame in
            if case .mediaCommand = frame.topic { return receiveForMedia(frame) }
            for bytes in frame.entries { receive(frame.topic, bytes) }
        }
    }

    /// Takes what the store tells media, as media does: a repetition is acknowledged again.
    private func receiveForMedia(_ frame: InboundFrame) {
        guard !isMediaAway else { return }
        for bytes in frame.entries {
            guard let entry = try? RequestEntry(bytes) else { continue }
            var reader = ByteReader(entry.fields)
            switch MediaRequestKind(rawValue: entry.kind) {
            case .release:
                guard let release = try? ReleaseMedia(from: &reader) else { continue }
                if !released.contains(release) { released.append(release) }
            case .erase:
                guard let user = try? EraseMedia(from: &reader).user else { continue }
                if !mediaErased.contains(user) { mediaErased.append(user) }
            case .attach, .copy, nil: continue
            }
            client.respond(to: RequestKey(origin: frame.origin, number: entry.number), status: 204)
        }
    }

    private func receive(_ topic: Topic, _ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        switch topic {
        case .change:
            guard let entry = try? ChangeEntry(from: &reader) else { return }
            changes.append((entry.conversation, entry.seq, String(decoding: entry.json, as: UTF8.self)))
        case .privateChange:
            guard let entry = try? PrivateEntry(from: &reader) else { return }
            privateChanges.append((entry.user, entry.useq, String(decoding: entry.json, as: UTF8.self)))
        case .ephemeral:
            if case .profile(let news)? = try? EphemeralEntry(from: &reader) { profileNews.append(news) }
        case .digest:
            if let entry = try? DigestEntry(from: &reader) { digests.append(entry) }
        default: break
        }
    }

    func close() {
        bus.close()
        client.close()
        receiptBus?.close()
        receipt?.closeConnections()
        store.closeConnections()
        try? FileManager.default.removeItem(atPath: directory)
    }

    // MARK: Requests

    /// A response of the store: the client JSON, or the problem.
    enum Reply: Sendable {
        case json(status: UInt16, String)
        case problem(Problem)

        var status: UInt16 {
            switch self {
            case .json(let status, _): status
            case .problem(let problem): problem.code.status
            }
        }

        /// Returns a field of the JSON by its path of keys.
        func field(_ path: String...) -> Any? {
            guard case .json(_, let text) = self else { return nil }
            var value: Any? = try? JSONSerialization.jsonObject(with: Data(text.utf8))
            for key in path {
                value = Int(key).map { index in (value as? [Any])?[index] } ?? (value as? [String: Any])?[key]
            }
            return value
        }
    }

    /// Publishes a request once, under a number chosen by the test. Its response has no receiver.
    func publish(
        _ kind: StoreRequestKind, in slot: Slot, _ number: RequestNumber, fields: (inout ByteBuffer) -> Void
    ) {
        client.append(to: .command(slot.group)) {
            RequestEntry.write(number, slot, kind: kind.rawValue, to: &$0, fields: fields)
        }
    }

    /// Publishes a message as `publish` does, and waits until the store has it.
    func publishMessage(from sender: String, to conversation: ConversationID, _ number: RequestNumber) async {
        publish(.sendMessages, in: conversation.slot, number) {
            SendMessages.writeHead(conversation, UserID(sender)!, count: 1, to: &$0)
            Self.write(Draft(), to: &$0)
        }
        await arrived()
    }

    /// Waits until everything published has arrived. What is published later arrives later.
    private func arrived() async {
        _ = await client.request(StoreRequestKind.positions, in: Slot(0), deadline: .seconds(60)) {
            $0.append(bigEndian: UInt32(0))
        }
    }

    /// Waits until everything published is done.
    func settle() async {
        await arrived()
        while !store.writer.isIdle || !store.backgroundWriter.isIdle || store.queries.inFlight > 0 {
            await Reactor.sleep(for: .milliseconds(1))
        }
    }

    func ask(_ kind: StoreRequestKind, in slot: Slot, _ fields: some WireCodable) async -> Reply? {
        await ask(kind, in: slot) { fields.write(to: &$0) }.map { status, payload in Self.reply(status, payload) }
    }

    /// Returns the raw response, for those that are not client JSON.
    func ask(
        _ kind: StoreRequestKind, in slot: Slot, fields: (inout ByteBuffer) -> Void
    ) async -> (status: UInt16, payload: [UInt8])? {
        let outcome = await client.request(kind, in: slot, deadline: .seconds(60), fields: fields)
        guard case .response(let response) = outcome else { return nil }
        return (response.status, Array(response.payload.bytes))
    }

    /// Asks the receipt service.
    func askReceipt(
        _ kind: ReceiptRequestKind, in slot: Slot, _ fields: some WireCodable
    ) async -> (status: UInt16, payload: [UInt8])? {
        let outcome = await client.request(kind, in: slot, deadline: .seconds(60)) { fields.write(to: &$0) }
        guard case .response(let response) = outcome else { return nil }
        return (response.status, Array(response.payload.bytes))
    }

    private static func reply(_ status: UInt16, _ payload: [UInt8]) -> Reply {
        guard status >= 400 else { return .json(status: status, String(decoding: payload, as: UTF8.self)) }
        return payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return .problem((try? Problem(from: &reader)) ?? Problem(.invalid, "the problem does not parse"))
        }
    }

    // MARK: Common requests

    func create(_ conversation: ConversationID, by creator: String, with members: [String]) async -> Reply? {
        await ask(
            .createConversation, in: conversation.slot,
            CreateConversation(
                conversation: conversation, kind: .group, creator: UserID(creator)!, title: "",
                members: members.map { UserID($0)! }))
    }

    struct Draft: Sendable {
        var id = MessageID(.random)
        var text = "hello"
        var replyTo: MessageID?
        var mentions = ""
        var files: [File] = []
        var extra = ""
        var isSealed = false
        var poll: NewPoll?
    }

    /// A file that a message is to carry, as media describes it.
    struct File: Sendable {
        let id = MediaID(.random)
        let name: String
        var type = "application/pdf"
        private(set) var verdict = AttachVerdict.ready

        init(name: String, type: String = "application/pdf") {
            self.name = name
            self.type = type
        }

        func with(_ verdict: AttachVerdict) -> File {
            var file = self
            file.verdict = verdict
            return file
        }

        var json: String { #"{"id":"\#(id)","name":"\#(name)","type":"\#(type)","size":7}"# }

        func write(to buffer: inout ByteBuffer) {
            Array((verdict == .ready ? json : "").utf8).withUnsafeBytes {
                AttachedFile(id, verdict, descriptor: $0).write(to: &buffer)
            }
        }
    }

    /// Reports to the receipt service that a user has read a conversation.
    func signal(read seq: Int64, by user: String, in conversation: ConversationID) async throws {
        let signal = ReceiptSignal(conversation, user: UserID(user)!, delivered: 0, read: seq)
        let outcome = await client.request(ReceiptRequestKind.signal, in: conversation.slot, deadline: .seconds(60)) {
            signal.write(to: &$0)
        }
        guard case .response(let response) = outcome else {
            Issue.record("no receipt service answers")
            return
        }
        #expect(response.status == 202)
    }

    func send(_ drafts: Draft..., from sender: String, to conversation: ConversationID) async -> [Reply] {
        await sendAll(drafts, from: sender, to: conversation)
    }

    func sendAll(_ drafts: [Draft], from sender: String, to conversation: ConversationID) async -> [Reply] {
        let haveFiles = drafts.contains { !$0.files.isEmpty }, haveExtra = drafts.contains { !$0.extra.isEmpty }
        let areSealed = drafts.contains(where: \.isSealed), havePolls = drafts.contains { $0.poll != nil }
        let kind: StoreRequestKind =
            havePolls
            ? .sendPoll
            : areSealed ? .sendSealed : haveExtra ? .sendWhole : haveFiles ? .sendWithAttachments : .sendMessages
        let raw = await ask(kind, in: conversation.slot) { buffer in
            SendMessages.writeHead(conversation, UserID(sender)!, count: drafts.count, to: &buffer)
            for draft in drafts {
                Self.write(draft, to: &buffer)
                guard kind != .sendMessages else { continue }
                buffer.append(UInt8(draft.files.count))
                for file in draft.files { file.write(to: &buffer) }
                let parts = NewMessage.Parts(kind)!
                if parts >= .whole { Array(draft.extra.utf8).withUnsafeBytes { buffer.append(long: $0) } }
                if parts >= .sealed { buffer.append(draft.isSealed ? 1 : 0 as UInt8) }
                if parts == .poll { NewPoll.write(draft.poll, to: &buffer) }
            }
        }
        return (raw?.payload ?? []).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var replies: [Reply] = []
            while !reader.isAtEnd, let (status, body) = try? SendResponse.next(from: &reader) {
                replies.append(Self.reply(status, Array(body)))
            }
            return replies
        }
    }

    /// As ingest does: what the store of the source says of it goes to that of the conversation.
    func forward(
        _ message: MessageID, of source: ConversationID, as id: MessageID = MessageID(.random), from sender: String,
        to conversation: ConversationID, origin: Bool
    ) async -> Reply? {
        let query = MessageQuery(ConversationQuery(source, reader: UserID(sender)!), message: message)
        let found = await ask(.forwardSource, in: source.slot) { query.write(to: &$0) }
        let raw = await ask(.sendForwarded, in: conversation.slot) { buffer in
            (found?.payload ?? []).withUnsafeBytes { bytes in
                var reader = ByteReader(bytes), forward = Forward(of: query, showsOrigin: origin)
                var text = UnsafeRawBufferPointer(start: nil, count: 0)
                switch try? ForwardSource(from: &reader) {
                case .problem(let problem): forward.problem = problem
                case .found(let author, let body, _): (forward.origin, text) = (origin ? author : nil, body)
                case nil: Issue.record("no store says what can be forwarded")
                }
                SendMessages.writeHead(conversation, UserID(sender)!, count: 1, to: &buffer)
                forward.withEncoded { forward in
                    NewMessage(
                        id: id, sentAt: Timestamp(milliseconds: 0), replyTo: nil, mentions: .init(start: nil, count: 0),
                        text: text, forward: forward
                    ).write(to: &buffer, .forwarded)
                }
            }
        }
        return (raw?.payload ?? []).withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return (try? SendResponse.next(from: &reader)).map { Self.reply($0.status, Array($0.body)) }
        }
    }

    private static func write(_ draft: Draft, to buffer: inout ByteBuffer) {
        Array(draft.text.utf8).withUnsafeBytes { text in
            Array(draft.mentions.utf8).withUnsafeBytes { mentions in
                NewMessage(
                    id: draft.id, sentAt: Timestamp(milliseconds: 0), replyTo: draft.replyTo, mentions: mentions,
                    text: text
                ).write(to: &buffer)
            }
        }
    }

    func write(
        _ action: Write.Action, by actor: String, in conversation: ConversationID, key: UUIDBytes? = nil
    ) async -> Reply? {
        await ask(.write, in: conversation.slot, Write(conversation, by: UserID(actor)!, key: key, action))
    }

    func put(
        readReceipts: SettingChange = .leave, presence: SettingChange = .leave, by user: String, key: UUIDBytes? = nil
    ) async -> Reply? {
        let user = UserID(user)!
        return await ask(
            .putSettings, in: user.slot, PutSettings(user, key: key, readReceipts: readReceipts, presence: presence))
    }

    func settings(of user: String, in conversation: ConversationID) async -> Reply? {
        await ask(
            .conversationSettings, in: conversation.slot,
            ConversationQuery(conversation, reader: UserID(user)!))
    }

    func message(_ id: MessageID, for reader: String, in conversation: ConversationID) async -> Reply? {
        await ask(
            .message, in: conversation.slot,
            MessageQuery(ConversationQuery(conversation, reader: UserID(reader)!), message: id))
    }

    func conversation(_ id: ConversationID, for reader: String) async -> Reply? {
        await ask(.conversation, in: id.slot, ConversationQuery(id, reader: UserID(reader)!))
    }

    func changes(_ id: ConversationID, for reader: String, after seq: Int64 = 0) async -> Reply? {
        let head = ConversationQuery(id, reader: UserID(reader)!)
        return await ask(.changes, in: id.slot, AfterPositionQuery(head, after: seq, limit: 200))
    }

    func history(
        _ conversation: ConversationID, for reader: String, _ anchor: HistoryQuery.Anchor = .latest, limit: UInt16 = 50
    ) async -> Reply? {
        await ask(
            .history, in: conversation.slot,
            HistoryQuery(ConversationQuery(conversation, reader: UserID(reader)!), anchor: anchor, limit: limit))
    }

    /// Returns the id of this database's history. Cursors of other histories are refused.
    func logID() async -> UUIDBytes {
        guard let row = try? database.query("SELECT log_id FROM store.deployment").first else { return .zero }
        return row[0]
    }

    /// Waits until `condition` holds. Returns false after a minute: a busy machine takes long.
    func eventually(_ condition: @Reactor () -> Bool) async -> Bool {
        for _ in 0..<12_000 {
            if condition() { return true }
            await Reactor.sleep(for: .milliseconds(5))
        }
        return condition()
    }
}

extension UUIDBytes {
    /// A random version 4 UUID.
    static var random: UUIDBytes {
        UUIDBytes(high: .random(in: 0 ... .max) & ~0xF000 | 0x4000, low: .random(in: 0 ... .max) & ~0 >> 2 | 1 << 63)
    }
}
