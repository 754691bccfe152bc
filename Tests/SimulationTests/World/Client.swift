import Bus
import Bytes
import JSON
import Models
import Reactor
import ServiceKit
import Wire

@testable import ParleyCLI

/// A client of the system: repeats what was not answered, comes back with its cursors, and looks at everything it is
/// told.
@Reactor
final class Client {
    enum Operation {
        case send(ConversationID, MessageID, text: String)
        case add(ConversationID, UserID, key: UUIDBytes)
        case remove(ConversationID, UserID, key: UUIDBytes)
    }

    let user: UserID
    private let system: System
    private var world: World { system.world }
    private let token: String
    private(set) var unanswered = 0
    /// Messages that the server said are stored.
    private(set) var acknowledged: [(ConversationID, MessageID, text: String)] = []

    private var connection: ClientConnection?
    private(set) var cursors: [ConversationID: StreamCursor] = [:]
    private(set) var useq: Int64 = 0
    private(set) var statusVersions: [ConversationID: Int64] = [:]
    private(set) var delivered: [ConversationID: [String: Int64]] = [:]
    private(set) var read: [ConversationID: [String: Int64]] = [:]

    init(_ user: UserID, in system: System) {
        self.user = user
        self.system = system
        let expiry = Timestamp(milliseconds: 4_000_000_000_000)
        token = System.signer.token(for: Identity(user: user, device: nil, expiresAt: expiry))
        for conversation in system.conversations { cursors[conversation] = StreamCursor(after: 0) }
    }

    // MARK: Requests

    func perform(_ operation: Operation) {
        unanswered += 1
        attempt(Attempt(operation))
    }

    /// One operation until it is answered.
    private final class Attempt {
        let operation: Operation
        var isDone = false
        var number = 0
        init(_ operation: Operation) { self.operation = operation }
    }

    private func attempt(_ attempt: Attempt) {
        guard !attempt.isDone else { return }
        attempt.number += 1
        let number = attempt.number
        // Longer than ingest waits: whoever hears nothing by then has lost the connection.
        world.after(.seconds(6)) { [weak self] in
            if attempt.number == number { self?.attempt(attempt) }
        }
        guard let node = system.node(.ingest) else { return }
        world.after(world.microseconds(100...1000)) { [weak self] in
            node.turn { self?.ask(attempt, at: node) }
        }
    }

    /// What `ingest` does with a request: the bus repeats it until it is answered or the deadline has passed.
    private func ask(_ attempt: Attempt, at node: Node) {
        let (kind, conversation, fields) = request(attempt.operation)
        node.bus.request(kind, in: conversation.slot, deadline: .seconds(5), fields: fields) { [weak self] outcome in
            guard let self else { return }
            let answer = Reply(outcome, to: kind)
            world.after(world.microseconds(100...1000)) { [weak self] in self?.take(answer, attempt) }
        }
    }

    private func request(
        _ operation: Operation
    ) -> (StoreRequestKind, ConversationID, (inout ByteBuffer) -> Void) {
        switch operation {
        case .send(let conversation, let message, let text):
            return (.sendMessages, conversation, { [user] in Self.write(message, text, conversation, user, &$0) })
        case .add(let conversation, let member, let key):
            let write = Write(conversation, by: user, key: key, .putMember(member, nil))
            return (.write, conversation, { write.write(to: &$0) })
        case .remove(let conversation, let member, let key):
            let write = Write(conversation, by: user, key: key, .removeMember(member))
            return (.write, conversation, { write.write(to: &$0) })
        }
    }

    private static func write(
        _ id: MessageID, _ text: String, _ conversation: ConversationID, _ user: UserID, _ buffer: inout ByteBuffer
    ) {
        SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
        Array(text.utf8).withUnsafeBytes { text in
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            NewMessage(id: id, sentAt: Timestamp(milliseconds: 1), replyTo: nil, mentions: nothing, text: text)
                .write(to: &buffer)
        }
    }

    private func take(_ reply: Reply, _ attempt: Attempt) {
        guard !attempt.isDone else { return }
        switch reply {
        case .later:
            attempt.number += 1
            world.after(world.milliseconds(100...800)) { [weak self] in self?.attempt(attempt) }
        case .done, .refused:
            attempt.isDone = true
            unanswered -= 1
            if case .send(let conversation, let message, let text) = attempt.operation, reply == .done {
                acknowledged.append((conversation, message, text))
            }
        case .nonsense(let what):
            attempt.isDone = true
            unanswered -= 1
            world.violated("\(user) was answered \(what)")
        }
    }

    // MARK: Session

    var isConnected: Bool { connection != nil }

    func connect() {
        guard connection == nil else { return }
        guard let (node, gateway) = system.fanout() else {
            return world.after(.milliseconds(200)) { [weak self] in self?.connect() }
        }
        let connection = ClientConnection(self, node, gateway, world)
        world.note("\(user) connects to \(node.number): \(hello())")
        self.connection = connection
        connection.open(hello())
    }

    func disconnect() { connection?.abort() }

    func lost(_ connection: ClientConnection) {
        guard self.connection === connection else { return }
        world.note("\(user) lost its connection")
        self.connection = nil
        world.after(world.milliseconds(50...700)) { [weak self] in self?.connect() }
    }

    private func hello() -> String {
        let positions = cursors.map { "\"\($0.key)\":\($0.value.seq ?? 0)" }.joined(separator: ",")
        let versions = statusVersions.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return """
            {"type":"hello","token":"\(token)","cursors":{\(positions)},"useq":\(useq),"statusVersions":{\(versions)}}
            """
    }

    /// Says that everything is read, and again whenever it comes back: what was said to a dead fanout is lost.
    func readEverything() {
        readsEverything = true
        for conversation in system.conversations { say("read", conversation) }
    }

    private var readsEverything = false

    func say(_ kind: String, _ conversation: ConversationID) {
        guard let seq = cursors[conversation]?.seq, seq > 0 else { return }
        connection?.say("{\"type\":\"\(kind)\",\"conversationId\":\"\(conversation)\",\"seq\":\(seq)}")
    }

    // MARK: What it is told

    func receive(_ text: UnsafeRawBufferPointer) {
        world.note("\(user) hears \(String(decoding: text, as: UTF8.self).prefix(400))")
        do throws(JSONError) {
            let frame = try ServerFrame(text)
            switch frame.type {
            case "welcome": if readsEverything { readEverything() }
            case "change": if let change = frame.change { take(try ChangeHead(encoded: change)) }
            case "private": take(try NumberedFrame(text, named: "useq"))
            case "status": if let conversation = frame.conversation { try take(frame.status, in: conversation, text) }
            case "reset", "reload": world.violated("\(user) was told \(frame.type)")
            case "bye": if frame.code != "draining" { world.violated("\(user) was sent away: \(frame.reason ?? "")") }
            default: break
            }
        } catch {
            world.violated("\(user) cannot read a frame: \(error)")
        }
    }

    /// The next change that this user may see, once.
    private func take(_ change: ChangeHead) {
        guard let id = change.conversation, let conversation = system.database.tables.conversations[id] else {
            return world.violated("\(user) was told of an unknown conversation")
        }
        switch cursors[id, default: StreamCursor(after: 0)].offer(change.seq) {
        case .deliver: break
        case .repeated, .hold: world.violated("\(user) was told change \(change.seq) again")
        case .gap(let after):
            let missing = (after + 1..<change.seq).filter { conversation.isVisible($0, to: user) }
            if !missing.isEmpty { world.violated("\(user) was told \(change.seq) without \(missing)") }
        }
        guard conversation.isVisible(change.seq, to: user), Int(change.seq) <= conversation.entries.count else {
            return world.violated("\(user) was told change \(change.seq), which is not theirs to see")
        }
        if change.isCreatedMessage, conversation.entries[Int(change.seq) - 1].message != change.message {
            world.violated("\(user) was told another message at \(change.seq)")
        }
    }

    private func take(_ frame: NumberedFrame) {
        if frame.number != useq + 1 { world.violated("\(user) was told private change \(frame.number) after \(useq)") }
        useq = frame.number
    }

    private func take(
        _ status: StatusView, in conversation: ConversationID, _ text: UnsafeRawBufferPointer
    ) throws(JSONError) {
        let version = try NumberedFrame(text, named: "statusVersion").number
        // Whoever joins is told from then on; a merged frame may tell again what is known.
        statusVersions[conversation] = max(statusVersions[conversation] ?? 0, version)
        merge(status.delivered, into: &delivered[conversation, default: [:]], "delivered")
        merge(status.read, into: &read[conversation, default: [:]], "read")
    }

    private func merge(_ news: [String: Int64], into known: inout [String: Int64], _ what: String) {
        for (name, seq) in news {
            if seq < known[name] ?? 0 { world.violated("\(user) was told that \(name) has \(what) less than before") }
            known[name] = seq
        }
    }
}

/// What became of a request, as far as its client cares.
private enum Reply: Equatable {
    case done, refused, later
    case nonsense(String)

    init(_ outcome: RequestOutcome, to kind: StoreRequestKind) {
        guard case .answered(let answer) = outcome else {
            self = .later
            return
        }
        var status = answer.status
        if status == 200, kind == .sendMessages {
            var reader = ByteReader(answer.payload.bytes)
            guard let item = try? SendAnswer.next(from: &reader) else {
                self = .nonsense("with bytes that are no answer")
                return
            }
            status = item.status
        }
        switch status {
        case 200, 201, 204: self = .done
        case 403, 404: self = .refused
        case 503: self = .later
        default: self = .nonsense("\(status)")
        }
    }
}

/// A frame with a position of its own kind.
private struct NumberedFrame {
    var number: Int64 = 0

    init(_ text: UnsafeRawBufferPointer, named name: StaticString) throws(JSONError) {
        var reader = JSONReader(text)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key.string == name.description { number = try reader.integer() } else { try reader.skip() }
        }
        try reader.end()
    }
}
