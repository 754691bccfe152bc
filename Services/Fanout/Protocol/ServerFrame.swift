import Bytes
import Edge
import JSON
import Models
import Wire

/// The frames to clients, as in api.md. A frame of a stream is encoded once and shared by all sessions.
enum ServerFrame {
    static let heartbeatSeconds = 25

    /// `{"type":"change","change":…}`
    static func change(_ json: UnsafeRawBufferPointer) -> WebSocketFrame {
        .text(bytes(#"{"type":"change","change":"#), json, bytes("}"))
    }

    /// The same, from a change's object without its closing brace.
    static func change(head: UnsafeRawBufferPointer) -> WebSocketFrame {
        .text(bytes(#"{"type":"change","change":"#), head, bytes("}}"))
    }

    /// `{"type":"private",…}`, from an object without `type`.
    static func privateChange(_ json: UnsafeRawBufferPointer) -> WebSocketFrame {
        .text(bytes(#"{"type":"private","#), withoutBrace(json))
    }

    /// `{"type":"status",…}`, from an object without `type`.
    static func status(_ json: UnsafeRawBufferPointer) -> WebSocketFrame {
        .text(bytes(#"{"type":"status","#), withoutBrace(json))
    }

    /// `counts`: `[{seq, deliveredCount, readCount}…]`.
    static func status(
        _ conversation: ConversationID, version: Int64, at: Timestamp, counts: UnsafeRawBufferPointer
    ) -> WebSocketFrame {
        object(.status) { frame in
            frame.append(key: "conversationId", json: conversation)
            frame.append(key: "statusVersion", json: version)
            frame.append(key: "counts", encoded: counts)
            frame.append(key: "at", json: at)
        }
    }

    static func welcome(_ session: Session, _ bootstrap: Bootstrap) -> WebSocketFrame {
        object(.welcome) { frame in
            frame.append(key: "userId", json: session.user)
            frame.append(key: "sessionId", json: session.id)
            frame.append(key: "serverTime", json: bootstrap.serverTime)
            frame.append(key: "logId", json: bootstrap.logID)
            frame.append(key: "useq", json: bootstrap.useq)
            frame.append(key: "heartbeatSeconds", json: heartbeatSeconds)
            frame.append(key: "capabilities")
            frame.beginArray()
            frame.endArray()
            frame.append(key: "conversations")
            frame.append(bootstrap.conversations)
            frame.append(key: "more", json: bootstrap.hasMore)
            frame.append(key: "blocked")
            frame.beginArray()
            for user in bootstrap.blocked { frame.append(element: user) }
            frame.endArray()
        }
    }

    /// A reset of one conversation, or of everything.
    static func reset(_ conversation: ConversationID? = nil) -> WebSocketFrame {
        object(.reset) { $0.append(key: "conversationId", json: conversation) }
    }

    static func reload(_ conversation: ConversationID, lastSeq: Int64) -> WebSocketFrame {
        object(.reload) { frame in
            frame.append(key: "conversationId", json: conversation)
            frame.append(key: "lastSeq", json: lastSeq)
        }
    }

    /// A reload of the private stream, which continues after `useq`; missing changes before it are no longer kept.
    static func reload(useq: Int64) -> WebSocketFrame {
        object(.reload) { $0.append(key: "useq", json: useq) }
    }

    static func typing(_ conversation: ConversationID, _ user: UserID, isActive: Bool) -> WebSocketFrame {
        object(.typing) { frame in
            frame.append(key: "conversationId", json: conversation)
            frame.append(key: "userId", json: user)
            frame.append(key: "active", json: isActive)
        }
    }

    /// The user is online.
    static func presence(_ user: UserID) -> WebSocketFrame {
        object(.presence) { frame in
            frame.append(key: "userId", json: user)
            frame.append(key: "online", json: true)
        }
    }

    /// The user is offline, or no longer visible.
    static func presence(_ user: UserID, lastSeen: Timestamp?) -> WebSocketFrame {
        object(.presence) { frame in
            frame.append(key: "userId", json: user)
            frame.append(key: "online", json: false)
            frame.append(key: "lastSeen", json: lastSeen)
        }
    }

    /// The user's profile has changed.
    static func profile(_ user: UserID, version: Int64) -> WebSocketFrame {
        object(.profile) { frame in
            frame.append(key: "userId", json: user)
            frame.append(key: "version", json: version)
        }
    }

    static func pong(id: JSONString?) -> WebSocketFrame {
        object(.pong) { $0.append(key: "id", json: id) }
    }

    static func tokenExpiring(at time: Timestamp) -> WebSocketFrame {
        object(.tokenExpiring) { $0.append(key: "at", json: time) }
    }

    static func bye(
        _ code: ByeCode, reason: String, retryAfter: Int? = nil, until: Timestamp? = nil
    ) -> WebSocketFrame {
        object(.bye) { frame in
            frame.append(key: "code", json: code.name)
            frame.append(key: "reason", json: reason)
            frame.append(key: "retryAfter", json: retryAfter)
            frame.append(key: "until", json: until)
        }
    }

    private static func object(_ type: ServerFrameType, _ members: (inout ByteBuffer) -> Void) -> WebSocketFrame {
        var frame = ByteBuffer()
        frame.beginObject()
        frame.append(key: "type", json: type.name)
        members(&frame)
        frame.endObject()
        return .text(frame)
    }

    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    private static func withoutBrace(_ json: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: json.dropFirst())
    }
}

extension ByeCode {
    /// The close code that follows the `bye` frame.
    var webSocketCloseCode: WebSocketCloseCode { WebSocketCloseCode(rawValue: closeCode) }
}
