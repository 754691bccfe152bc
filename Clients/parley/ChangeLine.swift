import JSON
import Models
import ParleyClient
import ParleyPresentation

/// A change as a line of text: time, end of the conversation's id, position, event.
struct ChangeLine {
    let text: String

    init(_ encoded: UnsafeRawBufferPointer) throws(JSONError) {
        var change = Change()
        var reader = JSONReader(encoded)
        try change.read(&reader)
        try reader.end()
        let time = change.at.dropFirst(11).prefix(8)
        let place = change.conversation.map { String($0.description.suffix(8)) } ?? "-"
        // Strangers' texts go to a terminal.
        text = HarmlessText.line("\(time) \(place) \(change.seq) \(change.event)", limit: .max)
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
            case "member.added": user == actor ? "\(actor) joined" : "\(actor) added \(user)"
            case "member.removed": "\(actor) removed \(user)"
            case "conversation.created": "\(actor) created the conversation"
            case "permissions.changed": "\(actor) changed who may do what"
            case "conversation.renamed": "\(actor) named the conversation \"\(title)\""
            default: kind
            }
        }
    }
}
