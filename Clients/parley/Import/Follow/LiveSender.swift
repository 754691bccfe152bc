import Archives
import Bytes
import CommandSupport
import Foundation
import JSON
import Models
import Reactor
import ReactorTransport

/// Carries out the operations of a follower by the public contract, each until it has a final result.
///
/// It has an administrator's token and acts for the user concerned, so the rules of the contract decide as for that user.
@Reactor
final class LiveSender {
    enum Outcome {
        /// - seq: the position of a message.
        case done(seq: Int64?)
        case refused(Refusals.Reason)
        /// Asked to stop, or the system was away for too long: it may or may not have been carried out.
        case unfinished
    }

    private let http: HTTPClient
    private let tokens: TokenSource
    private let me: UserID
    private let patience: Duration

    private var token = ""
    private var tokenTime: MonotonicTime?
    private var lastSuccess = MonotonicTime.now

    private(set) var counts: [LiveOperation.Kind: Int] = [:]
    /// Why nothing happens now.
    private(set) var trouble: String?
    /// Why nothing will happen any more.
    private(set) var end: String?
    var isStopping = false

    private static let administrator = UserID("parley-import")!
    private static let tokenAge = Duration.seconds(3_600)
    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(5)
    private static let step = Duration.milliseconds(100)

    init(_ connection: ConnectionArguments, me: UserID, patience: Duration) {
        http = HTTPClient(connection.http, connectionsPerEndpoint: 4)
        tokens = connection.tokens
        self.me = me
        self.patience = patience
    }

    func perform(
        _ keyed: KeyedOperation, in work: FollowWork
    ) async -> Outcome {
        let outcome = await attempt(keyed, work)
        if case .done = outcome { counts[keyed.operation.kind, default: 0] += 1 }
        return outcome
    }

    private func attempt(_ keyed: KeyedOperation, _ work: FollowWork) async -> Outcome {
        let (id, key) = (work.conversation, keyed.key)
        switch keyed.operation {
        case .create(let peer, let members, let title): return await create(id, peer, members, title)
        case .send(let message, let sentAt): return await send(message, sentAt, work)
        case .edit(let message, let text, let user):
            return await write("PATCH", "\(path(id))/messages/\(message)", Self.object("text", text), by: user, key)
        case .deleteForEveryone(let message, let user):
            return await write("DELETE", "\(path(id))/messages/\(message)?scope=everyone", [], by: user, key)
        case .tapback(let message, let kind, let user): return await tapback(message, kind, user, work, key)
        case .add(let user, let actor):
            return await asMember(actor) { await write("PUT", "\(path(id))/members/\(user)", [], by: $0, key) }
        case .remove(let user, let actor):
            return await asMember(actor) { await write("DELETE", "\(path(id))/members/\(user)", [], by: $0, key) }
        case .rename(let title, let actor):
            return await asMember(actor) { await write("PATCH", path(id), Self.object("title", title), by: $0, key) }
        case .receipt(let kind, let position, let user): return await receipt(kind, position, user, id)
        }
    }

    // MARK: Operations

    private func create(
        _ id: ConversationID, _ peer: UserID?, _ members: [UserID], _ title: String?
    ) async -> Outcome {
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: "kind", json: peer == nil ? "group" : "direct")
        if peer == nil { body.append(key: "id", json: id) }
        body.append(key: "title", json: title)
        body.append(key: "members")
        body.beginArray()
        for member in peer.map({ [$0] }) ?? members { body.append(element: member) }
        body.endArray()
        body.endObject()
        return await write("POST", "/v1/conversations", body.array, by: me, nil)
    }

    private func send(_ message: ImportRecord.Message, _ sentAt: Timestamp?, _ work: FollowWork) async -> Outcome {
        let outcome = await asMember(message.senderId, admittedTo: work) {
            await post(message, sentAt, replyTo: message.replyTo)
        }
        // A parent that cannot be replied to, or was none when the message was sent before.
        guard message.replyTo != nil, case .refused(let reason) = outcome,
            ["notReplyable", "conflict"].contains(reason.name)
        else { return outcome }
        return await post(message, sentAt, replyTo: nil)
    }

    private func post(_ message: ImportRecord.Message, _ sentAt: Timestamp?, replyTo: MessageID?) async -> Outcome {
        var body = ByteBuffer(capacity: 512)
        body.beginObject()
        body.append(key: "id", json: message.id)
        body.append(key: "text", json: message.text ?? "")
        body.append(key: "replyTo", json: replyTo)
        body.append(key: "sentAt", json: sentAt)
        body.endObject()
        return await write(
            "POST", "\(path(message.conversationId))/messages", body.array, by: message.senderId, nil)
    }

    private func tapback(
        _ message: MessageID, _ kind: TapbackKind?, _ user: UserID, _ work: FollowWork, _ key: UUIDBytes
    ) async -> Outcome {
        let path = "\(path(work.conversation))/messages/\(message)/tapback"
        var isRepeated = false
        return await asMember(user, admittedTo: work) {
            // What was refused is refused again under its key.
            defer { isRepeated = true }
            let key = isRepeated ? nil : key
            guard let kind else { return await write("DELETE", path, [], by: user, key) }
            return await write("PUT", path, Self.object("kind", kind.name), by: user, key)
        }
    }

    private func receipt(
        _ kind: ImportRecord.Receipt.Kind, _ position: LiveOperation.ReceiptPosition, _ user: UserID,
        _ id: ConversationID
    ) async -> Outcome {
        var seq: Int64
        switch position {
        case .position(let known): seq = known
        case .message(let message, let beyond):
            let found = await write("GET", "\(path(id))/messages/\(message)", [], by: me, nil)
            guard case .done(let place) = found, let place else { return found }
            seq = place
            if seq <= beyond { return .done(seq: seq) }
        }
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: kind == .delivered ? "deliveredSeq" : "readSeq", json: seq)
        body.endObject()
        let outcome = await write("POST", "\(path(id))/receipts", body.array, by: user, nil)
        if case .done = outcome { return .done(seq: seq) }
        return outcome
    }

    // MARK: On behalf of whom

    /// Somebody who does something is a member, whether the source has said so or not.
    private func asMember(
        _ user: UserID, admittedTo work: FollowWork, _ body: () async -> Outcome
    ) async -> Outcome {
        let outcome = await body()
        guard work.isGroup, user != me, outcome.isNoMember else { return outcome }
        let admission = await write("PUT", "\(path(work.conversation))/members/\(user)", [], by: me, nil)
        guard case .done = admission else { return outcome }
        return await body()
    }

    /// What its actor may not do here, oneself does: in Messages anybody may.
    private func asMember(_ actor: UserID, _ body: (UserID) async -> Outcome) async -> Outcome {
        let outcome = await body(actor)
        guard actor != me, outcome.isNoMember else { return outcome }
        return await body(me)
    }

    // MARK: Calls

    private func path(_ id: ConversationID) -> String { "/v1/conversations/\(id)" }

    private static func object(_ key: StaticString, _ value: String) -> [UInt8] {
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: key, json: value)
        body.endObject()
        return body.array
    }

    private func write(
        _ method: StaticString, _ path: String, _ body: [UInt8], by user: UserID, _ key: UUIDBytes?
    ) async -> Outcome {
        var pause = Self.firstPause
        while !isStopping, end == nil {
            let request = HTTPRequest(
                method: method, path: path, token: freshToken, body: body, idempotencyKey: key, user: user)
            let reply = await http.send(request)
            guard reply.isTemporary else { return result(reply) }
            trouble = "status \(reply.status) \(reply.body.withUnsafeBytes { Self.problem($0)?.detail ?? "" })"
            if MonotonicTime.now - lastSuccess > patience { end = "the system does nothing: \(trouble ?? "")" }
            await rest(reply.retryAfter ?? pause)
            pause = min(pause * 2, Self.longestPause)
        }
        return .unfinished
    }

    private func rest(_ duration: Duration) async {
        let start = MonotonicTime.now
        while !isStopping, end == nil, MonotonicTime.now - start < duration { await Reactor.sleep(for: Self.step) }
    }

    private func result(_ reply: Reply) -> Outcome {
        if reply.isRefused { end = "there can be no TLS with the server" }
        let problem = reply.body.withUnsafeBytes { Self.problem($0) }
        if reply.status == 401 { end = "status 401 \(problem?.detail ?? "")" }
        guard end == nil else { return .unfinished }
        (lastSuccess, trouble) = (.now, nil)
        guard reply.isSuccess else { return .refused(Refusals.Reason(status: reply.status, problem)) }
        return .done(seq: reply.body.withUnsafeBytes { Self.seq($0) })
    }

    private static func problem(_ document: UnsafeRawBufferPointer) -> ProblemDetails? {
        document.isEmpty ? nil : try? JSONDecoder().decode(ProblemDetails.self, from: Data(document))
    }

    private static func seq(_ document: UnsafeRawBufferPointer) -> Int64? {
        guard !document.isEmpty else { return nil }
        var reader = JSONReader(document)
        return try? { () throws -> Int64? in
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if key == "seq" { return try reader.integer() }
                try reader.skip()
            }
            return nil
        }()
    }

    private var freshToken: String {
        if let tokenTime, MonotonicTime.now - tokenTime < Self.tokenAge { return token }
        token = tokens.token(for: Self.administrator, isAdministrator: true)
        tokenTime = .now
        return token
    }

    /// The time that passes without anything to do is not one in which the system did nothing.
    func countIdle() { lastSuccess = .now }
}

extension LiveSender.Outcome {
    fileprivate var isNoMember: Bool {
        guard case .refused(let reason) = self else { return false }
        return ["notFound", "forbidden"].contains(reason.name)
    }
}
