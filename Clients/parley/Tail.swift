import CommandSupport
import Glibc
import JSON
import Models
import ParleyClient
import Reactor

/// Prints the frames of one session.
@Reactor
final class Tail: LiveSessionOwner {
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
        if settings.printsJSON { return Terminal.say(HarmlessJSON.text(encoded)) }
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
