import Bytes
import Edge
import Models
import ServiceKit
import Wire

@testable import Ingest
@testable import ParleyClient

private let id = "01900000-0000-7000-8000-00000000cafe"
private let limits = ClientLimits()
private let alice = UserID("alice")!

extension Reader {
    /// What clients send in the bodies of their requests.
    static let clientBodies: [Reader] = [
        Reader(
            "message",
            #"{"id":"\#(id)","text":"Sunday, nine? 🧗","replyTo":"\#(id)","mentions":["alice","b.o-b"],"mentionsAll":true,"sentAt":"2026-11-21T18:00:00.123+02:00"}"#,
            #"{"id":"\#(id)","text":"\u00e9\ud83e\uddd7\n","attachments":null,"extra":{"a":[1.5]}}"#,
            #"{"id":"\#(id)","sealed":"c2VhbA=="}"#,
            #"{"id":"\#(id)","forward":{"conversationId":"\#(id)","messageId":"\#(id)","origin":true}}"#
        ) { (try? MessageFields($0, limits: limits, now: Timestamp(milliseconds: 0))).map { _ in true } },
        Reader(
            "messages",
            #"{"messages":[{"conversationId":"\#(id)","id":"\#(id)","text":"a ]}"},{"id":[1,{"b":"\""}]}]}"#,
            #"{"messages":[]}"#
        ) { bytes in
            guard let items = try? BatchItems(bytes, limits: limits) else { return nil }
            return items.items.allSatisfy { $0.isEmpty || bytes.contains($0) }
        },
        Reader(
            "conversation", #"{"id":"\#(id)","kind":"group","members":["alice","bob"],"title":"Climbing"}"#,
            #"{"kind":"direct","members":["bob"],"id":7}"#
        ) { bytes in
            guard let command = try? ConversationFields.command(bytes, creator: alice, limits: limits) else {
                return nil
            }
            return !command.members.contains(alice)
                && command.title.unicodeScalars.count <= ContractLimits.titleCharacters
        },
        Reader(
            "import",
            #"{"type":"conversation","id":"\#(id)","kind":"group","members":["alice"],"title":"t","createdAt":"2020-01-01T00:00:00Z"}"#,
            #"{"type":"message","conversationId":"\#(id)","id":"\#(id)","senderId":"alice","text":"b","createdAt":"2020-01-01T00:00:00Z","revisions":[{"text":"\u00e9","at":"2020-01-01T00:00:00Z"},{"text":"b","at":"2020-01-01T00:00:01Z"}]}"#,
            #"{"type":"member","conversationId":"\#(id)","userId":"bob","change":"added","at":"2020-01-01T00:00:00Z"}"#,
            #"{"type":"message","conversationId":"\#(id)","id":"\#(id)","senderId":"alice","text":"b","createdAt":"2020-01-01T00:00:00Z","poll":{"options":["\u00e9","b"],"multiple":true}}"#,
            #"{"type":"vote","conversationId":"\#(id)","messageId":"\#(id)","userId":"bob","options":[0,11],"at":"2020-01-01T00:00:00Z"}"#,
            #"{"type":"pollClosed","conversationId":"\#(id)","messageId":"\#(id)","at":"2020-01-01T00:00:00Z"}"#,
            #"{"type":"receipt","conversationId":"\#(id)","userId":"bob","kind":"read","throughMessageId":"\#(id)","at":"2020-01-01T00:00:00Z"}"#
        ) { bytes in
            guard let fields = try? ImportFields(bytes, limits: limits) else { return nil }
            var buffer = ByteBuffer()
            fields.write(to: &buffer)
            var reader = ByteReader(buffer.bytes)
            if fields.isReceipt { return (try? ImportReceipt(from: &reader)) != nil && reader.isAtEnd }
            return (try? ImportRecord(from: &reader)) != nil && reader.isAtEnd
        },
        Reader("receipts", #"{"deliveredSeq":9007199254740991,"readSeq":0}"#, #"{"readSeq":12,"x":[[[]]]}"#) { bytes in
            guard let fields = try? ReceiptFields(bytes) else { return nil }
            return [fields.delivered ?? 0, fields.read ?? 0].allSatisfy { (0...(1 << 53)).contains($0) }
        },
        Reader("settings", #"{"readReceipts":false,"presence":null}"#, #"{"presence":true}"#) {
            (try? SettingsFields($0, areOfConversation: false)).map { _ in true }
        },
        Reader("conversationSettings", #"{"readReceipts":null}"#) {
            (try? SettingsFields($0, areOfConversation: true)).map { _ in true }
        },
        Reader(
            "profile", #"{"displayName":"Bén 🧗","avatarUrl":"https://a.example/b.png?c","extra":{"a":[1,{"b":"]"}]}}"#,
            #"{"displayName":null,"extra":null}"#
        ) { bytes in
            guard let fields = try? ProfileFields(bytes), let name = try? fields.checkedName(),
                let url = try? fields.checkedURL(), let extra = try? fields.checkedExtra()
            else { return nil }
            return name.utf8.count <= 4 * ContractLimits.displayNameCharacters
                && (url.isEmpty || url.hasPrefix("https://")) && (extra.isEmpty || extra.first == "{")
                && extra.utf8.count <= ContractLimits.profileExtraBytes
        },
        Reader("invitation", #"{"id":"\#(id)","expiresAt":"2026-03-08T07:00:00Z","maxUses":7,"approval":true}"#) {
            bytes in
            guard let invitation = try? InvitationFields(bytes).invitation(secret: .zero) else { return nil }
            return invitation.maxUses.map { (1...Int32(ContractLimits.mostMembersPerConversation)).contains($0) }
                ?? true
        },
        Reader(
            "report",
            #"{"id":"\#(id)","conversationId":"\#(id)","messageId":"\#(id)","userId":"ben","reason":"spam","text":"Té"}"#
        ) { bytes in
            guard let fields = try? ReportFields(bytes), (try? fields.conversation()) != nil,
                let report = try? fields.report()
            else { return nil }
            return (report.message != nil || report.user != nil)
                && report.text.unicodeScalars.count <= ContractLimits.reportCharacters
        },
        Reader("resolution", #"{"action":"deleted","note":"Té"}"#) { bytes in
            (try? ResolutionFields(bytes).resolution(of: ReportID(.zero))).map {
                $0.note.unicodeScalars.count <= ContractLimits.reportCharacters
            }
        },
        Reader("mute", #"{"until":"2026-03-08T07:00:00.000Z"}"#, "") {
            (try? MarkFields.mute($0)).map { (0...Timestamp.forever.milliseconds).contains($0.milliseconds) }
        },
        Reader("pin", #"{"order":-7}"#, "{}") { (try? MarkFields.order($0)).map { abs($0) < 1 << 53 } },
        Reader("archive", #"{"throughSeq":7}"#, #"{"throughSeq":null}"#) {
            (try? MarkFields.through($0)).map { $0 > 0 }
        },
        Reader("edit", #"{"text":"Sunday, ten?"}"#, #"{"sealed":"c2VhbA=="}"#) {
            switch try? WriteFields.edit(of: MessageID(UUIDBytes(high: 7, low: 1)), $0, limits) {
            case .edit(_, let text): !text.utf8.contains(0) && text.utf8.count <= ContractLimits.textBytes
            case .editSealed(_, let sealed):
                sealed.utf8.count.isMultiple(of: 4) && sealed.utf8.count <= ContractLimits.sealedBytes
            default: nil
            }
        },
        Reader("draft", #"{"text":" Sunday,","replyTo":"0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"}"#, #"{"text":""}"#) {
            guard case .draft(let text, _)? = try? DraftFields($0).checked(limits) else { return nil }
            return !text.utf8.contains(0) && text.utf8.count <= ContractLimits.textBytes
        },
        Reader(
            "scheduled",
            #"{"at":"2026-03-08T07:00:00.000Z","text":"Té","mentions":["ben"],"mentionsAll":true,"extra":{"a":[1]}}"#,
            #"{"at":null,"text":"x","replyTo":"0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"}"#
        ) {
            let id = MessageID(UUIDBytes(high: 0x0198_c2a5_0f3a_7b52, low: 0x8d11_6c2f_9e4a_7b01))
            guard case .schedule(let message)? = try? ScheduleFields($0).checked(id, limits) else { return nil }
            return !message.text.isEmpty && !message.text.utf8.contains(0) && !message.extra.utf8.contains(0)
                && message.text.utf8.count <= ContractLimits.textBytes
        },
        Reader("title", #"{"title":"Sünday"}"#) { (try? WriteFields.title($0, limits)).map { !$0.utf8.contains(0) } },
        Reader(
            "tapback", #"{"kind":"love"}"#, #"{"kind":"🧗🏽‍♀️"}"#, #"{"kind":"🏴󠁧󠁢󠁳󠁣󠁴󠁿"}"#, #"{"kind":"🇩🇪"}"#
        ) { (try? WriteFields.tapback($0)).map { $0.count == 1 || $0.utf8.allSatisfy { $0 < 128 } } },
        Reader("role", #"{"role":"owner"}"#, "{}", "") { bytes in
            do throws(Problem) {
                _ = try WriteFields.role(bytes)
                return true
            } catch {
                return nil
            }
        },
    ]

    /// What clients send elsewhere in their requests.
    static let clientTexts: [Reader] = [
        Reader(
            "target", "/v1/conversations/\(id)/messages?before=7&limit=50", "http://h:1/v1/users/a%2Eb?x", "*"
        ) { bytes in
            let target = RequestTarget(bytes)
            return bytes.contains(target.path) && bytes.contains(target.query)
        },
        Reader("activityCursor", ActivityCursor.start.text, "1_\(id)") {
            roundTrip($0) { ActivityCursor(text: $0)?.text }
        },
        Reader("syncCursor", "\(id)_7_123_124_\(id)") { roundTrip($0) { SyncCursor(text: $0)?.text } },
        Reader("searchCursor", "1700000000000_\(id)_7_w", "1_\(id)_7_p") {
            roundTrip($0) { SearchCursor(text: $0)?.text }
        },
        Reader("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") {
            TraceContext(traceparent: $0).map { _ in true }
        },
    ]

    private static func roundTrip(_ bytes: UnsafeRawBufferPointer, _ read: (String) -> String?) -> Bool? {
        let text = String(decoding: bytes, as: UTF8.self)
        return read(text).map { $0 == text }
    }

    /// The frames of the WebSocket's clients, and what our own client is sent.
    static let clientFrames: [Reader] = [
        Reader(
            "clientFrame",
            #"{"type":"hello","token":"t","cursors":{"\#(id)":3},"useq":4,"statusVersions":{"\#(id)":1},"logId":"l","capabilities":["x"]}"#,
            #"{"type":"read","items":[{"conversationId":"\#(id)","seq":7}]}"#,
            #"{"type":"delivered","conversationId":"\#(id)","seq":7}"#,
            #"{"type":"typing","conversationId":"\#(id)","active":true}"#, #"{"type":"ping","id":"1"}"#,
            #"{"type":"auth","token":"t"}"#, #"{"type":"later","a":[{}]}"#
        ) { isClientFrame($0) ? true : nil },
        Reader(
            "serverFrame",
            #"{"type":"change","change":{"conversationId":"\#(id)","seq":2,"kind":"message.created","message":{"id":"\#(id)"}}}"#,
            #"{"type":"status","conversationId":"\#(id)","statusVersion":1,"read":{"bob":2},"delivered":{}}"#,
            #"{"type":"welcome","conversations":[{"id":"\#(id)","lastSeq":3}],"more":false}"#
        ) { bytes in
            guard let frame = try? ServerFrame(bytes) else { return nil }
            return frame.change.map { (try? ChangeHead(encoded: $0)) != nil ? bytes.contains($0) : true } ?? true
        },
    ]

    private static let secret = "a secret of the tests, long enough for HS256"

    /// Whatever stands in a file of keys, it is refused or has keys that choose one for a token.
    static let keySet = Reader("keys", exampleKeys) { bytes in
        guard let keys = try? TokenKeySet(jsonWebKeySet: bytes) else { return nil }
        var verifier = TokenVerifier(keys: keys)
        _ = try? verifier.verify(exampleToken, at: Timestamp(milliseconds: 0))
        return true
    }

    private static let exampleKeys = #"""
        {"keys":[{"kty":"oct","kid":"a","alg":"HS256","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"},{"kty":"EC",
        "kid":"b","use":"sig","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},{"kty":"OKP","crv":"Ed25519","key_ops":["verify"],"x":"AA"}]}
        """#

    /// A damaged token is never that of another user, nor one with more rights.
    static let token = Reader("token", exampleToken) { bytes in
        guard let key = try? TokenKey(secret: secret) else { return false }
        var verifier = TokenVerifier(key: key)
        guard let identity = try? verifier.verify(bytes) else { return nil }
        return identity.user == alice && identity.device == "phone" && !identity.isAdministrator
    }

    private static let exampleToken = TokenSigner(secret: secret).token(
        for: Identity(user: alice, device: "phone", expiresAt: Timestamp(milliseconds: 4_000_000_000_000)))
}
