import Bytes
import Foundation
import JSON
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import TestSupport
import Testing
import Wire

@testable import Receipt
@testable import Store

/// Random schedules of everything that moves receipts, compared with a model that has a row per message and member.
@Suite(.timeLimit(.minutes(5))) struct ReceiptScheduleTests {
    init() { ReactorThread.start() }

    @Test(
        "whatever is sent, joined, left, delivered, read, shown or not: receipts, status, dates and counts are those of a row per message and member",
        arguments: UInt64(0)..<6)
    @Reactor func schedule(seed: UInt64) async throws {
        let conversation = ConversationID(UUIDBytes(high: 5, low: seed * 41))
        let schedule = try await ReceiptSchedule(seed: seed, conversation)
        for number in 1...120 {
            try await schedule.step()
            if number % 10 == 0 { try await schedule.compare() }
            if number % 13 == 0 { try await schedule.keepDates() }
        }
        await schedule.end()
    }
}

/// A conversation, its events, and the model of its receipts.
@Reactor
private final class ReceiptSchedule {
    private static let users = ["ann", "bob", "cy", "dee", "eve"]

    private struct Row {
        var deliveredAt: String?
        var readAt: String?
    }

    private struct SentMessage {
        let seq: Int64
        let id: MessageID
        let sender: String
        var rows: [String: Row]
    }

    private let seed: UInt64
    private let conversation: ConversationID
    private let receipt: ReceiptUnderTest
    private let queries: Queries
    private var random: SeededRandom
    private var lastSeq: Int64 = 1
    private var members: Set<String> = [users[0], users[1]]
    private var former: Set<String> = []
    private var messages: [SentMessage] = []
    /// The messages as they were when a user left. A user who has not returned gets this state of their own messages.
    private var messagesWhenLeft: [String: [SentMessage]] = [:]
    private var sendsReceipts: [String: Bool] = [:]
    private var ownRead: [String: Int64] = [:]

    init(seed: UInt64, _ conversation: ConversationID) async throws {
        self.seed = seed
        self.conversation = conversation
        random = SeededRandom(seed: seed)
        receipt = try await ReceiptUnderTest(window: 0)
        var environment = Environment(["PARLEY_DATABASE_URL": receipt.database.url])
        let configuration = try StoreConfiguration(environment: &environment)
        queries = Queries(configuration, bus: receipt.client, log: Log(service: "store", level: .error))
        queries.connection.open()
        await waitUntil { queries.connection.isUp }
        try receipt.create(conversation, members: Array(members), lastSeq: 1)
    }

    func end() async {
        queries.connection.close()
        #expect(receipt.services[0].completions.rangesKept > 0, "seed \(seed)")
        await receipt.close()
    }

    // MARK: Events

    func step() async throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: try send()
        case 6..<8: try joinOrLeave()
        case 8: try decide()
        default: try await signal()
        }
    }

    private func send() throws {
        guard let sender = members.sorted().randomElement(using: &random) else { return }
        lastSeq += 1
        let message = SentMessage(
            seq: lastSeq, id: MessageID(UUIDBytes(high: 1, low: UInt64(lastSeq))), sender: sender,
            rows: Dictionary(uniqueKeysWithValues: members.subtracting([sender]).map { ($0, Row()) }))
        try receipt.send(conversation, message.id, seq: lastSeq, by: sender)
        messages.append(message)
    }

    private func joinOrLeave() throws {
        let user = Self.users.randomElement(using: &random)!
        lastSeq += 1
        if members.remove(user) != nil {
            former.insert(user)
            messagesWhenLeft[user] = messages
            try receipt.leave(conversation, user, at: lastSeq)
        } else {
            members.insert(user)
            messagesWhenLeft[user] = nil
            try receipt.join(conversation, user, from: lastSeq, through: nil)
        }
        try receipt.move(conversation, to: lastSeq)
        try receipt.setMemberCount(members.count, of: conversation)
    }

    private func decide() throws {
        let user = Self.users.randomElement(using: &random)!
        sendsReceipts[user, default: true].toggle()
        try receipt.sendReadReceipts(sendsReceipts[user]!, user, in: conversation)
    }

    private func signal() async throws {
        let user = Self.users.randomElement(using: &random)!
        let delivered = Int64.random(in: 0...lastSeq + 2, using: &random)
        let read = Int64.random(in: 0...(Bool.random(using: &random) ? lastSeq + 2 : delivered), using: &random)
        let status = await receipt.signal(conversation, user, delivered: delivered, read: read)
        #expect(status == (members.contains(user) ? 202 : former.contains(user) ? 403 : 404), "seed \(seed)")
        guard members.contains(user), let at = try receipt.lastMovement(in: conversation) else { return }
        pass(user, \.deliveredAt, through: max(delivered, read), at)
        if min(read, lastSeq) > ownRead[user, default: 0] {
            ownRead[user] = min(read, lastSeq)
            if sendsReceipts[user, default: true] { pass(user, \.readAt, through: read, at) }
        }
    }

    private func pass(_ user: String, _ time: WritableKeyPath<Row, String?>, through seq: Int64, _ at: String) {
        for index in messages.indices where messages[index].seq <= seq && messages[index].rows[user] != nil {
            if messages[index].rows[user]![keyPath: time] == nil { messages[index].rows[user]![keyPath: time] = at }
        }
    }

    /// Keeps dates even though the conversation is small. Kept and computed dates must be the same.
    func keepDates() async throws {
        for kind in [RunKind.delivered, .read] {
            while try await receipt.services[0].completions.keepPage(conversation, kind) {}
        }
    }

    // MARK: Comparisons

    func compare() async throws {
        for user in members.union(former) {
            // Small conversations are counted from a list of the members, large ones without.
            for limit in [ContractLimits.namedMembers, 0] {
                queries.recipientLimit = limit
                try await compareHistory(for: user)
                try await compareLone(of: user)
            }
            try await compareMembers(for: user)
        }
        for message in messages.suffix(12) {
            try await compareReceipts(messagesWhenLeft[message.sender]?.first { $0.seq == message.seq } ?? message)
        }
    }

    private func compareHistory(for user: String) async throws {
        let limit = UInt16.random(in: 1...60, using: &random)
        let anchor = HistoryQuery.Anchor.before(.random(in: 2...lastSeq + 1, using: &random))
        let page = try json(await queries.history(HistoryQuery(head(user), anchor: anchor, limit: limit)))
        for told in page["messages"] as! [[String: Any]] where told["senderId"] as! String == user {
            let message = (messagesWhenLeft[user] ?? messages).first { $0.seq == told["seq"] as! Int64 }!
            let expected = expectedStatus(of: message)
            #expect(status(told) == expected, "seed \(seed), message \(message.seq) of \(user), \(message.rows)")
        }
    }

    /// Compares messages that are counted each as if it were the only one of its conversation, as in lists.
    private func compareLone(of user: String) async throws {
        let own = (messagesWhenLeft[user] ?? messages).filter { $0.sender == user }.suffix(6)
        let sent = own.map { SentMessages(conversation: conversation, seqs: [$0.seq]) }
        let receipts = try await queries.receipts(of: sent, by: UserID(user)!).map { $0[0] }
        for (message, receipt) in zip(own, receipts) {
            let found: [String?] = [
                "\(receipt.status.name)", receipt.isDelivered ? text(receipt.lastDeliveredAt) : nil,
                receipt.isRead ? text(receipt.lastReadAt) : nil, "\(receipt.delivered)", "\(receipt.read)",
                "\(receipt.recipients)",
            ]
            #expect(found == expectedStatus(of: message), "seed \(seed), message \(message.seq), \(message.rows)")
        }
    }

    /// As in the JSON.
    private func text(_ time: Timestamp?) -> String? {
        time.map { time in
            var buffer = ByteBuffer()
            buffer.appendJSON(time)
            return String(decoding: buffer.array.dropFirst().dropLast(), as: UTF8.self)
        }
    }

    private func status(_ message: [String: Any]) -> [String?] {
        ["status", "dateDelivered", "dateRead", "deliveredCount", "readCount", "recipientCount"].map {
            message[$0].map { "\($0)" }
        }
    }

    private func expectedStatus(of message: SentMessage) -> [String?] {
        let delivered = message.rows.values.compactMap(\.deliveredAt), read = message.rows.values.compactMap(\.readAt)
        let count = message.rows.count
        let isDelivered = count > 0 && delivered.count == count, isRead = count > 0 && read.count == count
        return [
            isRead ? "read" : isDelivered ? "delivered" : "sent", isDelivered ? delivered.max() : nil,
            isRead ? read.max() : nil, "\(delivered.count)", "\(read.count)", "\(count)",
        ]
    }

    /// Compares all pages of a message's receipts.
    private func compareReceipts(_ message: SentMessage) async throws {
        var delivered: [String: String] = [:], read: [String: String] = [:]
        var cursor: String? = ""
        while let after = cursor {
            let page = try json(await queries.receipts(query(message, message.sender, after: after)))
            for (key, list) in [("delivered", page["delivered"]!), ("read", page["read"]!)] {
                for receipt in list as! [[String: String]] {
                    #expect(receipt["userId"]! > after, "seed \(seed)")
                    if key == "read" { read[receipt["userId"]!] = receipt["at"]! }
                    if key == "delivered" { delivered[receipt["userId"]!] = receipt["at"]! }
                }
            }
            let counts = ["deliveredCount", "readCount", "recipientCount"].map { page[$0] as! Int }
            #expect(
                counts == expectedStatus(of: message).suffix(3).map { Int($0!)! }, "seed \(seed), \(message.seq)")
            cursor = page["nextCursor"] as? String
        }
        #expect(delivered == message.rows.compactMapValues(\.deliveredAt), "seed \(seed), message \(message.seq)")
        #expect(read == message.rows.compactMapValues(\.readAt), "seed \(seed), message \(message.seq)")
        for other in message.rows.keys { await expectRefusal(message, other) }
    }

    private func expectRefusal(_ message: SentMessage, _ other: String) async {
        do {
            _ = try await queries.receipts(query(message, other, after: ""))
            Issue.record("\(other) is told the receipts of \(message.sender)")
        } catch {
            #expect((error as? Problem)?.code == .forbidden)
        }
    }

    private func query(_ message: SentMessage, _ reader: String, after: String) -> AfterUserQuery {
        AfterUserQuery(MessageQuery(head(reader), message: message.id), after: after, limit: 2)
    }

    /// Compares the members. Users see their own read position, and of others what they choose to show.
    private func compareMembers(for user: String) async throws {
        guard members.contains(user) else { return }
        let page = try json(await queries.members(MembersQuery(head(user), after: "", limit: 100)))
        for member in page["members"] as! [[String: Any]] {
            let name = member["userId"] as! String
            let shown = try receipt.shown(conversation, name) ?? 0
            #expect(member["readSeq"] as! Int64 == (name == user ? ownRead[name, default: 0] : shown), "seed \(seed)")
        }
    }

    private func head(_ reader: String) -> ConversationQuery {
        ConversationQuery(conversation, reader: UserID(reader)!)
    }

    private func json(_ bytes: [UInt8]) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(bytes)) as! [String: Any]
    }
}

extension ReceiptUnderTest {
    /// Inserts a message as the store writes it.
    fileprivate func send(_ conversation: ConversationID, _ id: MessageID, seq: Int64, by sender: String) throws {
        _ = try database.query(
            """
            INSERT INTO store.messages
                (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, sent_at, created_at)
            VALUES ($1, $2, $3, $4, $3, $5, 1, 'text', now(), now())
            """
        ) { parameters in
            parameters.add(conversation.slot)
            parameters.add(conversation)
            parameters.add(seq)
            parameters.add(id)
            parameters.add(sender)
        }
        try move(conversation, to: seq)
    }

    fileprivate func move(_ conversation: ConversationID, to seq: Int64) throws {
        _ = try database.query("UPDATE store.conversations SET last_seq = $2 WHERE id = $1") { parameters in
            parameters.add(conversation)
            parameters.add(seq)
        }
    }

    fileprivate func setMemberCount(_ count: Int, of conversation: ConversationID) throws {
        _ = try database.query("UPDATE store.conversations SET member_count = $2 WHERE id = $1") { parameters in
            parameters.add(conversation)
            parameters.add(Int32(count))
        }
    }

    /// Returns the time of the latest commit that moved something others can see, as in the JSON.
    fileprivate func lastMovement(in conversation: ConversationID) throws -> String? {
        try database.query("SELECT last_at FROM receipt.positions WHERE conversation_id = $1 AND status_version > 0") {
            $0.add(conversation)
        }.first.map { row in
            var buffer = ByteBuffer()
            buffer.appendJSON(row[0] as Timestamp)
            return String(decoding: buffer.array.dropFirst().dropLast(), as: UTF8.self)
        }
    }
}
