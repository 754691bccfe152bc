import Bus
import Bytes
import Foundation
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

/// Four stores that all believe they own every slot. Each of them executes every command at the same time as the
/// others, which is the worst that slot owners can do to each other.
@Reactor
private final class ManyWriters {
    static let count = 4
    let database: TestDatabase
    private(set) var stores: [StoreService] = []
    private var buses: [Bus] = []
    private var clients: [Bus] = []
    private let directory: String
    private(set) var answered = 0
    private(set) var unanswered: [StoreRequestKind] = []

    init() async throws {
        database = try TestDatabase(migratedBy: [Store.Schema.migrator, Schema.migrator])
        // Sessions get every slot lock that they try and never see another holder.
        try database.execute(
            """
            CREATE SCHEMA shadow;
            CREATE FUNCTION shadow.pg_try_advisory_lock(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
            CREATE FUNCTION shadow.pg_advisory_lock(int, int) RETURNS void LANGUAGE sql AS 'SELECT';
            ALTER DATABASE \(database.name) SET search_path = shadow, pg_catalog, public;
            """)
        directory =
            FileManager.default.temporaryDirectory.appending(path: "parley-\(UInt64.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for number in 0..<Self.count { try startStore(number) }
        for number in 0..<3 { try startClient(number) }
        while !stores.allSatisfy({ $0.slots.count == Slot.count && $0.backgroundWriter.connection.isUp }) {
            await Reactor.sleep(for: .milliseconds(5))
        }
        await Reactor.sleep(for: .milliseconds(300))  // Until all are connected. What is lost is repeated.
    }

    private func startStore(_ number: Int) throws {
        var environment = Environment(["PARLEY_DATABASE_URL": database.url])
        let bus = try Bus(bind: "ipc://\(directory)/store-\(number).sock")
        bus.receivesOwnFrames = true
        let store = StoreService(
            try StoreConfiguration(environment: &environment), bus: bus, log: Log(service: "store", level: .error))
        try bus.follow(try Endpoint.parse(list: "ipc://\(directory)/*.sock"))
        store.start()
        stores.append(store)
        buses.append(bus)
    }

    private func startClient(_ number: Int) throws {
        let bus = try Bus(bind: "ipc://\(directory)/client-\(number).sock")
        try bus.follow(try Endpoint.parse(list: "ipc://\(directory)/store*.sock"))
        clients.append(bus)
    }

    /// Publishes commands from several clients in one turn and waits until each has its response. Stores receive them in
    /// different orders.
    func ask(_ commands: [(StoreRequestKind, Slot, (inout ByteBuffer) -> Void)]) async {
        var open = commands.count
        for (index, (kind, slot, fields)) in commands.enumerated() {
            clients[index % clients.count].request(kind, in: slot, deadline: .seconds(20), fields: fields) { outcome in
                open -= 1
                if case .response = outcome { self.answered += 1 } else { self.unanswered.append(kind) }
            }
        }
        while open > 0 { await Reactor.sleep(for: .milliseconds(1)) }
    }

    var racesLost: Int {
        stores.reduce(0) { $0 + $1.writer.metrics.racesLost + $1.backgroundWriter.metrics.racesLost }
    }

    /// Returns the number of deadlocks once all sessions are closed, because sessions report it at their end.
    func close() async throws -> Int64 {
        for bus in buses + clients { bus.close() }
        for store in stores { store.closeConnections() }
        try? FileManager.default.removeItem(atPath: directory)
        for _ in 0..<500 {
            let others = try database.query(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'parley%'"
            ) { $0.add(database.name) }
            if others[0][0] as Int64 == 0 { break }
            await Reactor.sleep(for: .milliseconds(10))
        }
        return try database.query("SELECT deadlocks FROM pg_stat_database WHERE datname = $1") {
            $0.add(database.name)
        }[0][0]
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ManyWritersTests {
    typealias Command = (StoreRequestKind, Slot, (inout ByteBuffer) -> Void)

    init() { ReactorThread.start() }

    private static let users = (0..<12).map { UserID("user-\($0)")! }
    private static let erased = (0..<4).map { UserID("leaver-\($0)")! }

    private func command(_ kind: StoreRequestKind, in slot: Slot, _ fields: some WireCodable) -> Command {
        (kind, slot, { fields.write(to: &$0) })
    }

    private func creation(_ conversation: ConversationID, using random: inout SeededRandom) -> Command {
        let members = (Self.users + Self.erased).shuffled(using: &random)
        // Some names are new and have no streams yet.
        let strangers = (0..<3).map { _ in UserID("stranger-\(Int.random(in: 0..<40, using: &random))")! }
        let others = Array(Set(members[1..<6] + strangers)).shuffled(using: &random)
        return command(
            .createConversation, in: conversation.slot,
            CreateConversation(
                conversation: conversation, kind: .group, creator: members[0], title: "", members: others))
    }

    private func message(_ id: MessageID, by user: UserID, in conversation: ConversationID) -> Command {
        (
            .sendMessages, conversation.slot,
            { buffer in
                SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
                Array("hello".utf8).withUnsafeBytes { text in
                    NewMessage(
                        id: id, sentAt: Timestamp(milliseconds: 0), replyTo: nil,
                        mentions: UnsafeRawBufferPointer(start: nil, count: 0), text: text
                    ).write(to: &buffer)
                }
            }
        )
    }

    private func poll(_ id: MessageID, by user: UserID, in conversation: ConversationID) -> Command {
        (
            .sendPoll, conversation.slot,
            { buffer in
                SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
                let none = UnsafeRawBufferPointer(start: nil, count: 0)
                Array("which?".utf8).withUnsafeBytes { text in
                    NewPoll(options: ["one", "two", "three"], isMultiple: true).withEncoded { poll in
                        NewMessage(
                            id: id, sentAt: Timestamp(milliseconds: 0), replyTo: nil, mentions: none, text: text,
                            poll: poll
                        ).write(to: &buffer, .poll)
                    }
                }
            }
        )
    }

    private func anyCommand(
        _ conversations: [ConversationID], _ messages: [MessageID], using random: inout SeededRandom
    ) -> Command {
        let user = Self.users.randomElement(using: &random)!, other = Self.users.randomElement(using: &random)!
        let conversation = conversations.randomElement(using: &random)!
        let target = messages.randomElement(using: &random)!
        // Few, so that reports are resolved that others have made.
        let report = ReportID(UUIDBytes(high: .random(in: 0..<40, using: &random), low: 7))
        func write(_ action: Write.Action, by actor: UserID) -> Command {
            let key: UUIDBytes? = Bool.random(using: &random) ? .random : nil
            return command(.write, in: conversation.slot, Write(conversation, by: actor, key: key, action))
        }
        switch Int.random(in: 0..<33, using: &random) {
        case 0, 1, 2: return creation(ConversationID(.random), using: &random)
        case 3: return creation(conversation, using: &random)
        case 4: return write(.putMember(other, nil), by: Self.users[0])
        case 5: return write(.removeMember(other), by: Self.users[0])
        case 6: return write(.hide(target), by: user)
        case 7: return write(.clearHistory(through: 0), by: user)
        case 8: return write(.putSettings(readReceipts: Bool.random(using: &random) ? .no : .yes), by: user)
        case 9:
            return command(
                .putSettings, in: user.slot,
                PutSettings(user, key: nil, readReceipts: Bool.random(using: &random) ? .no : .yes, presence: .leave))
        case 10, 11:
            let entries = (0..<10).map { _ in
                ReadPositions.Entry(
                    Self.users.randomElement(using: &random)!, conversations.randomElement(using: &random)!,
                    readSeq: .random(in: 1..<1_000, using: &random))
            }
            return command(.readMoved, in: user.slot, ReadPositions(entries))
        case 12: return write(.deleteForEveryone(target), by: Self.users[0])
        case 13: return write(.setTapback(target, "love"), by: user)
        case 14: return write(.edit(target, text: "edited"), by: Self.users[0])
        case 15: return write(.unlist, by: other)
        case 16: return write(.removeTapback(target), by: user)
        case 17: return write(.rename("renamed"), by: user)
        case 18:
            let moment = Timestamp(milliseconds: .random(in: 1..<1_000_000, using: &random))
            let phone = DeviceID("phone")!
            return switch Int.random(in: 0..<4, using: &random) {
            case 0: command(.revokeTokens, in: user.slot, RevokeTokens(user, before: moment))
            case 2: command(.suspendUser, in: user.slot, SuspendUser(user, Bool.random(using: &random) ? .out : nil))
            case 1: command(.endDevices, in: user.slot, EndDevices(user, .allBut(phone), before: moment))
            default: command(.noteDevice, in: user.slot, NoteDevice(user, phone))
            }
        case 19:
            // Each pair has its own conversation, and several may create it at once.
            let pair = [user, user == other ? Self.erased[0] : other].sorted { $0.name < $1.name }
            let direct = ConversationID(UUIDBytes(hashOf: pair.map(\.name).joined(separator: " ")))
            return command(
                .createConversation, in: direct.slot,
                CreateConversation(
                    conversation: direct, kind: .direct, creator: user, title: "", members: pair.filter { $0 != user }))
        case 20: return write(.report(NewReport(id: report, message: target, user: other, reason: .spam)), by: user)
        case 21: return write(.resolveReport(ReportResolution(of: report, .deleted)), by: user)
        case 22: return write(Bool.random(using: &random) ? .pinMessage(target) : .unpinMessage(target), by: user)
        case 23:
            return write(.setLifetime(seconds: Bool.random(using: &random) ? 60 : 0), by: Self.users[0])
        case 24:
            guard Self.users.prefix(6).contains(user) else {
                return command(.expireMessages, in: conversation.slot, ExpireMessages(in: conversation))
            }
            return command(.trimHistory, in: conversation.slot, TrimHistory(in: conversation, days: 1))
        case 25:
            let act = RecordAct(.random, by: user, for: other, call: "deleteMessage", in: conversation)
            return command(.recordAct, in: .ofAuditLog, act)
        case 26:
            let scheduled = NewScheduled(target, at: Timestamp(milliseconds: 0), text: "later")
            return write(Bool.random(using: &random) ? .schedule(scheduled) : .cancelScheduled(target), by: user)
        case 27: return command(.sendScheduled, in: conversation.slot, SendScheduled(of: user, in: conversation))
        case 28, 29, 30, 31:
            guard Int.random(in: 0..<60, using: &random) > 0 else {
                return write(.closePoll(target), by: Self.users[0])
            }
            let voter = (Self.users + Self.erased).randomElement(using: &random)!
            return write(.vote(target, PollOptions(bits: .random(in: 0..<8, using: &random))), by: voter)
        default: return message(MessageID(.random), by: Self.users[0], in: conversation)
        }
    }

    @Test("stores with commands of all kinds, on all connections, never wait for each other in a circle")
    @Reactor func noDeadlock() async throws {
        let system = try await ManyWriters()
        var random = SeededRandom(seed: 7)
        let conversations = (0..<8).map { _ in ConversationID(.random) }
        let messages = (0..<20).map { _ in MessageID(.random) }
        await system.ask(
            conversations.map { conversation in
                command(
                    .createConversation, in: conversation.slot,
                    CreateConversation(
                        conversation: conversation, kind: .group, creator: Self.users[0], title: "",
                        members: Array(Self.users.dropFirst()) + Self.erased))
            })
        for conversation in conversations {
            await system.ask(
                messages.enumerated().map { place, id in
                    (place.isMultiple(of: 2) ? poll : message)(id, Self.users[0], conversation)
                })
        }
        for round in 0..<30 {
            await system.ask((0..<40).map { _ in anyCommand(conversations, messages, using: &random) })
            guard round % 8 == 4 else { continue }
            let leaver = Self.erased[round / 8]
            await system.ask([command(.eraseUser, in: leaver.slot, EraseUser(leaver))])
        }
        #expect(system.unanswered == [])
        #expect(system.answered > 1_300)
        for table in [
            "revocations", "tapbacks", "votes", "polls WHERE closed_seq IS NOT NULL", "reports", "acts",
            "inbox WHERE is_removed", "conversations WHERE kind = 2",
        ] {
            let rows = try system.database.query("SELECT FROM store.\(table)")
            #expect(!rows.isEmpty, "no \(table)")
        }
        let wrong = try system.database.query(
            """
            SELECT FROM store.polls p LEFT JOIN LATERAL (
                SELECT count(*) AS voters, ARRAY[
                    count(*) FILTER (WHERE v.options & 1 <> 0), count(*) FILTER (WHERE v.options & 2 <> 0),
                    count(*) FILTER (WHERE v.options & 4 <> 0)]::integer[] AS counts
                FROM store.votes v WHERE v.conversation_id = p.conversation_id AND v.message_id = p.message_id
            ) v ON true
            WHERE (p.voters, p.counts) IS DISTINCT FROM (v.voters, v.counts)
            """)
        #expect(wrong.isEmpty, "a poll counts other votes than it has")
        #expect(system.racesLost == 0)
        #expect(try await system.close() == 0)
    }
}
