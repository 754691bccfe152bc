import Bytes
import Glibc
import JSON
import Models
import Reactor

/// `parley tail`: prints what a user sees, live.
struct TailCommand: Command {
    static let description = CommandDescription(
        name: "tail", summary: "Prints what a user sees, live, until Ctrl-C.",
        options: [
            .init("user", "USER", "whose eyes to look through"),
            .init("conversation", "ID", "show this one alone"),
            .init("after", "SEQ", "begin behind this position of --conversation (default: now; 0 for everything)"),
            .init("receipts", nil, "show who received and read how far"),
            .init("typing", nil, "show who is typing"),
            .init("acknowledge", nil, "tell the senders that the messages were delivered"),
            .init("json", nil, "print the changes as they came"),
        ] + ConnectionArguments.options,
        details: """
            When the connection is lost it is opened again, and nothing is missed or shown twice.
            Example: parley tail --user bob --receipts
            """)

    private let connection: ConnectionArguments
    private let user: UserID
    private let settings: Tail.Settings

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        user = try arguments.user("user")
        settings = Tail.Settings(
            conversation: try arguments.uuid("conversation").map(ConversationID.init),
            after: try arguments.integer("after", in: 0 ... .max).map(Int64.init),
            showsReceipts: arguments.flag("receipts"), showsTyping: arguments.flag("typing"),
            acknowledges: arguments.flag("acknowledge"), printsJSON: arguments.flag("json"))
        if settings.after != nil, settings.conversation == nil {
            throw UsageError("--after is a position in one conversation: name it with --conversation")
        }
    }

    @Reactor func run() async -> Int32 {
        let api = ParleyAPI(http: HTTPClient(connection.http))
        let tail = Tail(settings)
        var cursors: [ConversationID: Int64] = [:]
        if let conversation = settings.conversation, let after = settings.after { cursors[conversation] = after }
        let session = LiveSession(
            connection.webSocket, api: api, cursors: cursors, owner: tail,
            token: { [connection, user] in connection.tokens.token(for: user) })
        tail.session = session
        session.start()
        return await tail.untilItEnds()
    }
}

/// Prints the frames of one session.
@Reactor
private final class Tail: LiveSessionOwner {
    struct Settings: Sendable {
        let conversation: ConversationID?
        let after: Int64?
        let showsReceipts: Bool
        let showsTyping: Bool
        let acknowledges: Bool
        let printsJSON: Bool
    }

    private let settings: Settings
    private var end: UnsafeContinuation<Int32, Never>?
    var session: LiveSession?

    init(_ settings: Settings) { self.settings = settings }

    func untilItEnds() async -> Int32 {
        Reactor.onSignal(SIGINT) { [self] in end?.resume(returning: 0) }
        return await withUnsafeContinuation { end = $0 }
    }

    func welcomed() { Terminal.tell("connected; Ctrl-C ends") }

    func changed(_ head: ChangeHead, _ encoded: UnsafeRawBufferPointer) {
        if settings.acknowledges { acknowledge(head) }
        guard isShown(head.conversation) else { return }
        if settings.printsJSON { return Terminal.say(String(decoding: encoded, as: UTF8.self)) }
        do throws(JSONError) {
            Terminal.say(try ChangeLine(encoded).text)
        } catch {
            broken("a change is not what the contract says: \(error)")
        }
    }

    func received(_ frame: ServerFrame) {
        switch frame.type {
        case "typing" where settings.showsTyping && isShown(frame.conversation):
            Terminal.say(
                "\(prefix(frame.conversation)) \(frame.user ?? "?") \(frame.isActive ? "is typing" : "stopped typing")")
        case "status" where settings.showsReceipts && isShown(frame.conversation):
            for line in frame.status.lines { Terminal.say("\(prefix(frame.conversation)) \(line)") }
        case "reset": Terminal.tell("the database was restored: what was shown before may not be there any more")
        default: break
        }
    }

    func broken(_ promise: String) { Terminal.tell("parley: \(promise)") }

    func disconnected(_ reason: String, reconnectingAfter delay: Duration?) {
        Terminal.tell("\(reason)\(delay == nil ? "" : "; connecting again")")
        if delay == nil { end?.resume(returning: 1) }
    }

    private func isShown(_ conversation: ConversationID?) -> Bool {
        settings.conversation == nil || settings.conversation == conversation
    }

    private func acknowledge(_ head: ChangeHead) {
        guard let conversation = head.conversation else { return }
        session?.send { frame in
            frame.beginObject()
            frame.append(key: "type", json: "delivered")
            frame.append(key: "conversationId", json: conversation)
            frame.append(key: "seq", json: head.seq)
            frame.endObject()
        }
    }
}

private func prefix(_ conversation: ConversationID?) -> String {
    conversation.map { "\($0.description.suffix(8))" } ?? "-"
}

extension StatusView {
    fileprivate var lines: [String] {
        delivered.sorted { $0.key < $1.key }.map { "\($0.key) received up to \($0.value)" }
            + read.sorted { $0.key < $1.key }.map { "\($0.key) read up to \($0.value)" }
    }
}

/// A change as a line for a person: time, end of the conversation's id, position, what happened.
struct ChangeLine {
    let text: String

    init(_ encoded: UnsafeRawBufferPointer) throws(JSONError) {
        var change = Change()
        var reader = JSONReader(encoded)
        try change.read(&reader)
        try reader.end()
        let time = change.at.dropFirst(11).prefix(8)
        let place = change.conversation.map { String($0.description.suffix(8)) } ?? "-"
        text = "\(time) \(place) \(change.seq) \(change.event)"
    }

    private struct Change {
        var conversation: ConversationID?
        var seq: Int64 = 0
        var kind = ""
        var at = ""
        var actor = ""
        var user = ""
        var title = ""
        var message: MessageView?

        mutating func read(_ reader: inout JSONReader) throws(JSONError) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "conversationId": conversation = try reader.conversationID()
                case "seq": seq = try reader.integer()
                case "kind": kind = try reader.string()
                case "at": at = try reader.string()
                case "actorId": actor = try reader.string()
                case "userId": user = try reader.string()
                case "title": title = try reader.string()
                case "message": message = try MessageView(reading: &reader)
                default: try reader.skip()
                }
            }
        }

        var event: String {
            let reply = message?.replyTo.map { " (to \($0.description.suffix(8)))" } ?? ""
            let body = "\(reply): \(message?.text ?? "")"
            return switch kind {
            case "message.created": actor + body
            case "message.edited": "\(actor) edited\(body)"
            case "message.deleted": "\(actor) deleted message \(message?.seq ?? 0)"
            case "tapback.set": "\(actor) reacted to message \(message?.seq ?? 0)"
            case "tapback.removed": "\(actor) took back a reaction to message \(message?.seq ?? 0)"
            case "member.added": "\(actor) added \(user)"
            case "member.removed": "\(actor) removed \(user)"
            case "conversation.created": "\(actor) created the conversation"
            case "conversation.renamed": "\(actor) named the conversation \"\(title)\""
            default: kind
            }
        }
    }
}
