import Bytes
import JSON
import Models

extension ByteBuffer {
    /// Appends the field `draft`, unless there is none.
    mutating func append(_ draft: KeptDraft?) {
        guard let draft else { return }
        append(key: "draft")
        beginObject()
        append(key: "text", json: draft.text)
        append(key: "replyTo", json: draft.replyTo)
        append(key: "at", json: draft.at)
        endObject()
    }
}
