import CommandSupport
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// Looks up the messages of a plan by id.
struct ReplayIndex: Sendable {
    let conversations: [ConversationID: Int]
    let messages: [MessageID: SendSchedule.Item]

    init(_ plan: ReplayPlan) {
        conversations = Dictionary(uniqueKeysWithValues: plan.conversations.enumerated().map { ($1.id, $0) })
        var messages: [MessageID: SendSchedule.Item] = [:]
        for (number, conversation) in plan.conversations.enumerated() {
            for (position, message) in conversation.messages.enumerated() {
                messages[message.id] = SendSchedule.Item(conversation: number, message: position)
            }
        }
        self.messages = messages
    }
}

/// A connected participant. It records what arrives and when, acknowledges delivery at once, and acknowledges reading a
/// moment later, as a person would.
@Reactor
final class ReplayListener: LiveSessionOwner {
    private let user: UserID
    private let index: ReplayIndex
    private unowned let sender: ReplaySender
    private var session: LiveSession?

    /// The messages of each conversation in order of arrival, with their positions.
    private(set) var arrivals: [Int: [(seq: Int64, message: MessageID)]] = [:]
    /// Every change of each conversation, as received. Parsed only at the end, so that it costs no time before.
    private(set) var received: [Int: [[UInt8]]] = [:]
    private(set) var latencies = Latencies()
    private(set) var broken = MismatchList()
    private(set) var changes = 0
    private(set) var reconnections = 0
    private(set) var isWelcome = false
    private var whenWelcome: UnsafeContinuation<Void, Never>?

    private var delivered = Receipts("delivered")
    private var read = Receipts("read")
    private var isReading = false

    private static let readingTime = Duration.milliseconds(200)

    init(_ user: UserID, index: ReplayIndex, sender: ReplaySender) {
        self.user = user
        self.index = index
        self.sender = sender
    }

    /// Connects, and returns when the session is live or has failed.
    func start(
        _ endpoints: [Endpoint], number: Int, api: ParleyAPI, conversations: [ConversationID], token: String
    ) async {
        // From the start, so that nothing of a run is missed, even when the run is repeated.
        let cursors = Dictionary(uniqueKeysWithValues: conversations.map { ($0, Int64(0)) })
        let session = LiveSession(
            endpoints, startingAt: number, api: api, cursors: cursors, owner: self, token: { token })
        self.session = session
        session.start()
        if !isWelcome { await withUnsafeContinuation { whenWelcome = $0 } }
    }

    func stop() { session?.end() }

    func position(in conversation: ConversationID) -> Int64 { session?.position(in: conversation) ?? 0 }

    // MARK: Session

    func welcomed() {
        // Receipts have no response, so those sent before the session was lost may not have arrived.
        for receipts in [delivered, read] { tell(receipts.kind, receipts.told) }
        isWelcome = true
        resumeStart()
    }

    func changed(_ head: ChangeHead, _ encoded: UnsafeRawBufferPointer) {
        guard let conversation = head.conversation, let number = index.conversations[conversation] else { return }
        changes += 1
        received[number, default: []].append(Array(encoded))
        acknowledge(conversation, head.seq)
        guard head.isCreatedMessage, let message = head.message else { return }
        arrivals[number, default: []].append((head.seq, message))
        guard let item = index.messages[message], let sent = sender.sentAt[item.conversation][item.message] else {
            return
        }
        latencies.record(nanoseconds: MonotonicTime.now.nanoseconds - sent.nanoseconds)
    }

    func received(_ frame: ServerFrame) {
        if frame.type == "reset" { broken.add("\(user) was told that the database was restored") }
    }

    func broken(_ promise: String) { broken.add("\(user): \(promise)") }

    func disconnected(_ reason: String, reconnectingAfter delay: Duration?) {
        reconnections += 1
        if delay == nil {
            broken.add("\(user) was disconnected: \(reason)")
            resumeStart()
        }
    }

    private func resumeStart() {
        whenWelcome?.resume()
        whenWelcome = nil
    }

    // MARK: Receipts

    private func acknowledge(_ conversation: ConversationID, _ seq: Int64) {
        if delivered.due.isEmpty { Reactor.atEndOfTurn { [self] in tell(delivered.kind, delivered.takeDue()) } }
        delivered.due[conversation] = seq
        read.due[conversation] = seq
        guard !isReading else { return }
        isReading = true
        Reactor.after(Self.readingTime) { [self] in
            isReading = false
            tell(read.kind, read.takeDue())
        }
    }

    private func tell(_ type: StaticString, _ positions: [ConversationID: Int64]) {
        guard !positions.isEmpty else { return }
        session?.send { frame in
            frame.beginObject()
            frame.append(key: "type", json: type)
            frame.append(key: "items")
            frame.beginArray()
            for (conversation, seq) in positions {
                frame.beginElement()
                frame.beginObject()
                frame.append(key: "conversationId", json: conversation)
                frame.append(key: "seq", json: seq)
                frame.endObject()
            }
            frame.endArray()
            frame.endObject()
        }
    }
}

/// A participant's delivered or read position in each conversation.
private struct Receipts {
    let kind: StaticString
    /// Positions to be sent next.
    var due: [ConversationID: Int64] = [:]
    /// Positions sent so far, possibly to a session that was lost with them.
    private(set) var told: [ConversationID: Int64] = [:]

    init(_ kind: StaticString) { self.kind = kind }

    mutating func takeDue() -> [ConversationID: Int64] {
        told.merge(due) { max($0, $1) }
        defer { due.removeAll(keepingCapacity: true) }
        return due
    }
}
