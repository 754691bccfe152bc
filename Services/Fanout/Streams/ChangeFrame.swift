import Edge
import Models
import Reactor
import Wire

/// A change, encoded once for all sessions.
struct ChangeFrame: StreamEntry {
    let position: Int64
    let frame: WebSocketFrame
    /// The member whose stay this change ends.
    let removed: UserID?
    /// The member whose stay it begins.
    let added: UserID?
    /// The change without its message, for sessions that may not see that older message.
    let withheld: WithheldMessage?
    /// By how much the change raises the number of members.
    let joined: Int

    init(_ entry: ChangeEntry) {
        position = entry.seq
        frame = ServerFrame.change(entry.json)
        removed = entry.kind == .memberRemoved ? UserID(bytes: entry.user) : nil
        added = entry.kind == .memberAdded ? UserID(bytes: entry.user) : nil
        joined = entry.kind == .memberAdded ? 1 : entry.kind == .memberRemoved ? -1 : 0
        // A new message is visible wherever its change is.
        withheld = entry.messageSeq.flatMap { $0 == entry.seq ? nil : WithheldMessage(at: $0, entry.head) }
    }

    /// Doubled when it may also be sent without its message.
    var byteCount: Int { withheld == nil ? frame.count : 2 * frame.count }

    func isLast(for session: Session) -> Bool { removed != nil && removed == session.user }
    var concernsHost: Bool { joined != 0 }
}

/// A change without the message it is about. Its frame is made when the first session needs it, and then shared.
@Reactor
final class WithheldMessage {
    /// The position of the message.
    let seq: Int64
    private let head: [UInt8]
    private(set) lazy var frame = head.withUnsafeBytes { ServerFrame.change(head: $0) }

    nonisolated init(at seq: Int64, _ head: UnsafeRawBufferPointer) {
        self.seq = seq
        self.head = Array(head)
    }
}
