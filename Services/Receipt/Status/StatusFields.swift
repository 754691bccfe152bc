import Bytes
import JSON
import Models
import Wire

/// A status frame: the horizons that moved, and their present positions.
struct StatusFields {
    let conversation: ConversationID
    let version: Int64
    var delivered: [(user: UserID, seq: Int64)] = []
    var read: [(user: UserID, seq: Int64)] = []
    /// When the last of them moved; nil if none ever did.
    var at: Timestamp?

    /// Whether the conversation has no more than `ContractLimits.namedMembers`. In larger ones a frame names nobody,
    /// and `fanout` queries the store for counts. A named frame may be empty if the user who moved has left.
    var namesMembers = false

    /// Writes the entry that carries the frame, from receipt to fanout and in the response to a `StatusQuery`. If
    /// members are not named, the entry has only its version.
    func writeEntry(to buffer: inout ByteBuffer) {
        StatusEntry.write(conversation, version: version, to: &buffer) { json in
            if namesMembers { write(to: &json) }
        }
    }

    /// `{conversationId, statusVersion, delivered?:{userId: seq}, read?:{userId: seq}, at}`
    private func write(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        buffer.append(key: "conversationId", json: conversation)
        buffer.append(key: "statusVersion", json: version)
        Self.write("delivered", delivered, to: &buffer)
        Self.write("read", read, to: &buffer)
        buffer.append(key: "at", json: at)
        buffer.endObject()
    }

    private static func write(
        _ key: StaticString, _ horizons: [(user: UserID, seq: Int64)], to buffer: inout ByteBuffer
    ) {
        guard !horizons.isEmpty else { return }
        buffer.append(key: key)
        buffer.beginObject()
        for (user, seq) in horizons {
            buffer.append(dynamicKey: user.name)
            buffer.appendJSON(seq)
        }
        buffer.endObject()
    }
}
