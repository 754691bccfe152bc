import Bytes
import Edge
import JSON
import Models
import ServiceKit
import Wire

@testable import Ingest
@testable import ParleyCLI

/// What reads bytes of strangers, with examples of what it takes. `read` returns whether the input was taken; where
/// something can be said of what is taken, it is false that it is so only when that does not hold.
enum Parser: String, CaseIterable {
    case message, messages, conversation, receipts, settings, conversationSettings, text, title, tapback, role
    case clientFrame, serverFrame, target, token
    case activityCursor, syncCursor, searchCursor, traceparent

    var corpus: [[UInt8]] { examples.map { Array($0.utf8) } }

    private static let id = "01900000-0000-7000-8000-00000000cafe"

    private var examples: [String] {
        switch self {
        case .message:
            [
                #"{"id":"\#(Self.id)","text":"Sunday, nine? 🧗","replyTo":"\#(Self.id)","mentions":["alice","b.o-b"],"sentAt":"2026-11-21T18:00:00.123+02:00"}"#,
                #"{"id":"\#(Self.id)","text":"\u00e9\ud83e\uddd7\n","attachments":null}"#,
            ]
        case .messages:
            [
                #"{"messages":[{"conversationId":"\#(Self.id)","id":"\#(Self.id)","text":"a ]}"},{"id":[1,{"b":"\""}]}]}"#,
                #"{"messages":[]}"#,
            ]
        case .conversation:
            [
                #"{"id":"\#(Self.id)","kind":"group","members":["alice","bob"],"title":"Climbing"}"#,
                #"{"kind":"direct","members":["bob"],"id":7}"#,
            ]
        case .receipts: [#"{"deliveredSeq":9007199254740991,"readSeq":0}"#, #"{"readSeq":12,"x":[[[]]]}"#]
        case .settings: [#"{"readReceipts":false,"presence":null}"#, #"{"presence":true}"#]
        case .conversationSettings: [#"{"readReceipts":null}"#]
        case .text: [#"{"text":"Sunday, ten?"}"#]
        case .title: [#"{"title":"Sünday"}"#]
        case .tapback: [#"{"kind":"love"}"#, #"{"kind":"🧗🏽‍♀️"}"#, #"{"kind":"🏴󠁧󠁢󠁳󠁣󠁴󠁿"}"#, #"{"kind":"🇩🇪"}"#]
        case .role: [#"{"role":"owner"}"#, "{}", ""]
        case .clientFrame:
            [
                #"{"type":"hello","token":"t","cursors":{"\#(Self.id)":3},"useq":4,"statusVersions":{"\#(Self.id)":1},"logId":"l","capabilities":["x"]}"#,
                #"{"type":"read","items":[{"conversationId":"\#(Self.id)","seq":7}]}"#,
                #"{"type":"delivered","conversationId":"\#(Self.id)","seq":7}"#,
                #"{"type":"typing","conversationId":"\#(Self.id)","active":true}"#, #"{"type":"ping","id":"1"}"#,
                #"{"type":"auth","token":"t"}"#, #"{"type":"later","a":[{}]}"#,
            ]
        case .serverFrame:
            [
                #"{"type":"change","change":{"conversationId":"\#(Self.id)","seq":2,"kind":"message.created","message":{"id":"\#(Self.id)"}}}"#,
                #"{"type":"status","conversationId":"\#(Self.id)","statusVersion":1,"read":{"bob":2},"delivered":{}}"#,
                #"{"type":"welcome","conversations":[{"id":"\#(Self.id)","lastSeq":3}],"more":false}"#,
            ]
        case .target: ["/v1/conversations/\(Self.id)/messages?before=7&limit=50", "http://h:1/v1/users/a%2Eb?x", "*"]
        case .token:
            [
                TokenSigner(secret: Self.secret).token(
                    for: Identity(
                        user: UserID("alice")!, device: "phone", expiresAt: Timestamp(milliseconds: 4_000_000_000_000)))
            ]
        case .activityCursor: [ActivityCursor.start.text, "1_\(Self.id)"]
        case .syncCursor: ["\(Self.id)_7_123_124_\(Self.id)"]
        case .searchCursor: ["1700000000000_\(Self.id)_7_w", "1_\(Self.id)_7_p"]
        case .traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
        }
    }

    private static let secret = "a secret of the tests, long enough for HS256"

    /// - Returns: nil when the bytes are refused, and else whether what was made of them is what it should be.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        let limits = ClientLimits()
        let user = UserID("alice")!
        switch self {
        case .message:
            return (try? MessageFields(bytes, limits: limits, now: Timestamp(milliseconds: 0))).map { _ in true }
        case .messages:
            guard let items = try? BatchItems(bytes, limits: limits) else { return nil }
            return items.items.allSatisfy { $0.isEmpty || bytes.contains($0) }
        case .conversation:
            guard let command = try? ConversationFields.command(bytes, creator: user, limits: limits) else {
                return nil
            }
            return !command.members.contains(user) && command.title.unicodeScalars.count <= limits.titleCharacters
        case .receipts:
            guard let fields = try? ReceiptFields(bytes) else { return nil }
            return [fields.delivered ?? 0, fields.read ?? 0].allSatisfy { (0...(1 << 53)).contains($0) }
        case .settings: return (try? SettingsFields(bytes, areOfConversation: false)).map { _ in true }
        case .conversationSettings: return (try? SettingsFields(bytes, areOfConversation: true)).map { _ in true }
        case .text: return (try? WriteFields.text(bytes, limits)).map { !$0.utf8.contains(0) && $0.utf8.count <= 16384 }
        case .title: return (try? WriteFields.title(bytes, limits)).map { !$0.utf8.contains(0) }
        case .tapback:
            return (try? WriteFields.tapback(bytes)).map { $0.count == 1 || $0.utf8.allSatisfy { $0 < 128 } }
        case .role: return isRole(bytes) ? true : nil
        case .clientFrame: return isClientFrame(bytes) ? true : nil
        case .serverFrame:
            guard let frame = try? ServerFrame(bytes) else { return nil }
            return frame.change.map { bytes.contains($0) } ?? true
        case .target: return takeTarget(bytes)
        case .token: return takeToken(bytes)
        case .activityCursor: return roundTrip(bytes) { ActivityCursor(text: $0)?.text }
        case .syncCursor: return roundTrip(bytes) { SyncCursor(text: $0)?.text }
        case .searchCursor: return roundTrip(bytes) { SearchCursor(text: $0)?.text }
        case .traceparent: return TraceContext(traceparent: bytes).map { _ in true }
        }
    }

    private func isRole(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do throws(Problem) {
            _ = try WriteFields.role(bytes)
            return true
        } catch {
            return false
        }
    }

    private func takeTarget(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        let target = RequestTarget(bytes)
        return bytes.contains(target.path) && bytes.contains(target.query)
    }

    /// A damaged token is never that of another user, nor one with more rights.
    private func takeToken(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        guard let key = try? TokenKey(secret: Self.secret) else { return false }
        var verifier = TokenVerifier(key: key)
        guard let identity = try? verifier.verify(bytes) else { return nil }
        return identity.user == UserID("alice")! && identity.device == "phone" && !identity.isAdministrator
    }

    private func roundTrip(_ bytes: UnsafeRawBufferPointer, _ read: (String) -> String?) -> Bool? {
        let text = String(decoding: bytes, as: UTF8.self)
        return read(text).map { $0 == text }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether `part` lies in these bytes; an empty one lies anywhere.
    fileprivate func contains(_ part: UnsafeRawBufferPointer) -> Bool {
        guard let start = part.baseAddress, part.count > 0 else { return true }
        guard let own = baseAddress else { return false }
        return start >= own && start + part.count <= own + count
    }
}
