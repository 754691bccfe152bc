import Bytes
import JSON
import Models

/// What a user keeps to themselves about a conversation, or the part of it that a private change says.
struct Marks: Equatable {
    struct Unread: Equatable {
        var isMarked: Bool
        /// How far the user has read. Reading on ends the mark.
        var readSeq: Int64
    }

    var mutedUntil: Timestamp?
    var pinOrder: Int64?
    var archivedSeq: Int64?
    var unread: Unread?
}

extension ByteBuffer {
    mutating func appendFields(_ marks: Marks) {
        append(key: "mutedUntil", json: marks.mutedUntil)
        append(key: "pinOrder", json: marks.pinOrder)
        append(key: "archivedSeq", json: marks.archivedSeq)
        if let unread = marks.unread { append(key: "markedUnread", json: unread.isMarked) }
    }
}
