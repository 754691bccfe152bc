import Models
import Wire

/// An operation that a user requests under its own key: one request of the client contract, however often it is
/// repeated.
struct Operation {
    enum Kind {
        case send(MessageID, text: String, replyTo: MessageID?)
        case sendBatch([(id: MessageID, text: String)])
        case edit(MessageID, text: String)
        case deleteForEveryone(MessageID)
        case hide(MessageID)
        case setTapback(MessageID, String)
        case removeTapback(MessageID)
        case add(UserID)
        case remove(UserID)
        case clearHistory(through: Int64)
        case unlist
        case mark(Mark)
        /// Applies to this conversation. Nil means the general setting.
        case showReadingHere(Bool?)
        case showReading(Bool)
        case read(Int64)
    }

    let conversation: ConversationID
    let key: UUIDBytes
    let kind: Kind
    /// Whether the client omits its key where that is allowed. Each repetition is then a separate request.
    var leavesKeyAway = false

    /// Whether the operation is done once per key. The others are idempotent, or are done as often as they are
    /// requested.
    var isKeyed: Bool {
        switch kind {
        case .send, .sendBatch, .read: false
        case .edit, .setTapback, .removeTapback, .add, .remove: !leavesKeyAway
        default: true
        }
    }

    var isAboutSettings: Bool {
        switch kind {
        case .showReading, .showReadingHere: true
        default: false
        }
    }

    // MARK: Encoding as a request

    private var base: String { "/v1/conversations/\(conversation)" }

    func request(token: String) -> [UInt8] {
        let (method, path, body) = parts
        return HTTPText.request(method, path, body, token: token, key: isKeyed ? key : nil)
    }

    private var parts: (method: String, path: String, body: String) {
        switch kind {
        case .send(let id, let text, let parent):
            let reply = parent.map { #","replyTo":"\#($0)""# } ?? ""
            return ("POST", "\(base)/messages", #"{"id":"\#(id)","text":"\#(text)"\#(reply)}"#)
        case .sendBatch(let messages):
            let items = messages.map { #"{"conversationId":"\#(conversation)","id":"\#($0.id)","text":"\#($0.text)"}"# }
            return ("POST", "/v1/messages:batch", #"{"messages":[\#(items.joined(separator: ","))]}"#)
        case .edit(let id, let text): return ("PATCH", "\(base)/messages/\(id)", #"{"text":"\#(text)"}"#)
        case .deleteForEveryone(let id): return ("DELETE", "\(base)/messages/\(id)?scope=everyone", "")
        case .hide(let id): return ("DELETE", "\(base)/messages/\(id)", "")
        case .setTapback(let id, let kind): return ("PUT", "\(base)/messages/\(id)/tapback", #"{"kind":"\#(kind)"}"#)
        case .removeTapback(let id): return ("DELETE", "\(base)/messages/\(id)/tapback", "")
        case .add(let user): return ("PUT", "\(base)/members/\(user)", "")
        case .remove(let user): return ("DELETE", "\(base)/members/\(user)", "")
        case .clearHistory(let seq): return ("DELETE", "\(base)/history?through=\(seq)", "")
        case .unlist: return ("DELETE", base, "")
        case .mark(let mark): return mark.request(base)
        case .showReadingHere(let shows):
            return ("PUT", "\(base)/settings", #"{"readReceipts":\#(shows.map(String.init) ?? "null")}"#)
        case .showReading(let shows): return ("PUT", "/v1/settings", #"{"readReceipts":\#(shows)}"#)
        case .read(let seq): return ("POST", "\(base)/receipts", #"{"readSeq":\#(seq)}"#)
        }
    }
}

extension Mark {
    fileprivate func request(_ base: String) -> (method: String, path: String, body: String) {
        switch self {
        case .muted(let until?): ("PUT", "\(base)/mute", #"{"until":"\#(until)"}"#)
        case .pinned(let order?): ("PUT", "\(base)/pin", #"{"order":\#(order)}"#)
        case .archived(let through?): ("PUT", "\(base)/archive", #"{"throughSeq":\#(through)}"#)
        case .unread(true): ("PUT", "\(base)/unread", "")
        case .muted: ("DELETE", "\(base)/mute", "")
        case .pinned: ("DELETE", "\(base)/pin", "")
        case .archived: ("DELETE", "\(base)/archive", "")
        case .unread: ("DELETE", "\(base)/unread", "")
        }
    }
}

/// Encodes requests as bytes.
enum HTTPText {
    static func request(
        _ method: String, _ path: String, _ body: String = "", token: String, key: UUIDBytes? = nil
    ) -> [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: parley\r\nAuthorization: Bearer \(token)\r\n"
        if let key { head += "Idempotency-Key: \(key)\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.utf8.count)\r\n" }
        return Array((head + "\r\n" + body).utf8)
    }
}
