import CommandSupport
import Models
import Reactor
import ReactorTransport

/// Reads the histories and changes of all conversations of a run, several at once, and compares them.
@Reactor
final class ConversationAudits {
    private let conversations: [LoadConversation]
    private let reader: @Reactor (LoadConversation) -> LoadIdentity
    /// The form that every text must have. Nil when some were edited or deleted.
    private let text: LoadText?
    private var next = 0
    private(set) var mismatches = MismatchList()
    private(set) var messages = 0

    private static let atOnce = 16

    /// - Parameter reader: the member that reads a conversation.
    init(
        _ conversations: [LoadConversation], text: LoadText?,
        reader: @escaping @Reactor (LoadConversation) -> LoadIdentity
    ) {
        self.conversations = conversations
        self.text = text
        self.reader = reader
    }

    func run() async {
        var running = min(Self.atOnce, conversations.count)
        guard running > 0 else { return }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            for _ in 0..<running {
                Reactor.spawn { [self] in
                    await auditNext()
                    running -= 1
                    if running == 0 { continuation.resume() }
                }
            }
        }
    }

    private func auditNext() async {
        while next < conversations.count {
            next += 1
            let conversation = conversations[next - 1]
            do {
                try await audit(conversation, as: reader(conversation))
            } catch {
                mismatches.add("conversation \(conversation.id) cannot be read: \(error)")
            }
        }
    }

    private func audit(_ conversation: LoadConversation, as reader: LoadIdentity) async throws {
        var audit = HistoryAudit(
            "conversation \(conversation.id)", run: reader.run, conversation: conversation.number,
            sent: conversation.sent,
            acknowledged: conversation.acknowledged, lastSeq: conversation.lastSeq)
        let end = try await readHistory(conversation, as: reader, into: &audit)
        try await readChanges(conversation, as: reader, into: &audit)
        audit.finish(lastSeq: end)
        messages += conversation.sent
        mismatches.add(audit.mismatches)
    }

    private func readHistory(
        _ conversation: LoadConversation, as reader: LoadIdentity, into audit: inout HistoryAudit
    ) async throws -> Int64 {
        var seq: Int64 = 0
        while true {
            let page = try await reader.api.call(
                HTTPRequest(
                    path: "/v1/conversations/\(conversation.id)/messages?after=\(seq)&limit=200", token: reader.token))
            var last = seq
            let end = try page.withUnsafeBytes { bytes in
                try AuditPage.history(bytes, text) { id, position, isIntact in
                    last = position
                    if let id { audit.take(message: id, at: position, isIntact: isIntact) }
                }
            }
            if !end.hasMore || last == seq { return end.lastSeq }
            seq = last
        }
    }

    private func readChanges(
        _ conversation: LoadConversation, as reader: LoadIdentity, into audit: inout HistoryAudit
    ) async throws {
        var seq: Int64 = 0
        while true {
            let page = try await reader.api.call(
                HTTPRequest(
                    path: "/v1/conversations/\(conversation.id)/changes?after=\(seq)&limit=1000", token: reader.token))
            var last = seq
            let end = try page.withUnsafeBytes { bytes in
                try AuditPage.changes(bytes) { position in
                    last = position
                    audit.take(changeAt: position)
                }
            }
            if !end.hasMore || last == seq { return }
            seq = last
        }
    }
}
