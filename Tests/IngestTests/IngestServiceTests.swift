import Bus
import Bytes
import Edge
import Foundation
import Glibc
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Ingest
@testable import ServiceKit

/// The directory of these tests' sockets. Removed at exit, because the sockets' owners live as long as the process.
private enum SocketDirectory {
    static let path: String = {
        var template = Array("/tmp/parley-ingest-XXXXXX".utf8CString)
        let path = String(cString: mkdtemp(&template)!)
        atexit { try? FileManager.default.removeItem(atPath: SocketDirectory.path) }
        return path
    }()
}

/// An ingest, and in place of the stores the other end of its bus, which responds when a test says so, and repeats the
/// response to a repeated request.
@Reactor
private final class TestIngest {
    /// Keeps every instance alive: sockets and timers refer to it unowned.
    private static var all: [TestIngest] = []

    let port: Int
    let server: Server
    private let service: Service
    private let ingest: IngestService
    private let bus: Bus
    private let stores: Bus
    private let media: Bus
    /// What media was asked and has not responded to, without repetitions.
    private(set) var attaching: [(key: RequestKey, request: AttachMedia)] = []
    /// The received requests without a response, without repetitions.
    private(set) var waiting: [(key: RequestKey, fields: [UInt8])] = []
    private(set) var received = 0
    private var responses: [RequestKey: (status: UInt16, payload: [UInt8])] = [:]
    /// The response that every request gets at once; nil to let it wait.
    private var immediateResponse: String?

    /// What becomes of an act that is to be recorded.
    enum AuditLog {
        case there, away, slow
    }
    var auditLog = AuditLog.there
    private(set) var acts: [(key: RequestKey, act: RecordAct)] = []
    private(set) var ends: [EndAct] = []

    private nonisolated static let secret = "a secret of the tests, long enough for HS256"

    nonisolated static func start(_ variables: [String: String] = [:]) async throws -> TestIngest {
        ReactorThread.start()
        let ingest = try await TestIngest(variables)
        #expect(await eventually { ingest.isConnected })
        return ingest
    }

    private init(_ variables: [String: String]) throws {
        let path = "\(SocketDirectory.path)/\(Self.all.count)"
        var environment = Environment(
            variables.merging([
                "PARLEY_JWT_SECRET": Self.secret, "PARLEY_LISTEN": "127.0.0.1:0", "PARLEY_LOG_LEVEL": "error",
                "PARLEY_BUS_BIND": "ipc://\(path)-ingest", "PARLEY_BUS_STORE": "ipc://\(path)-store",
                "PARLEY_BUS_RECEIPT": "ipc://\(path)-none", "PARLEY_BUS_MEDIA": "ipc://\(path)-media",
            ]) { given, _ in given })
        let settings = try ServiceSettings(name: "ingest", environment: &environment)
        let configuration = try IngestConfiguration(environment: &environment)
        stores = try Bus(bind: "ipc://\(path)-store")
        media = try Bus(bind: "ipc://\(path)-media")
        service = Service(settings, log: Log(service: "ingest", level: .error))
        bus = try service.openBus(configuration.bus)
        // Now that somebody is there: who is looked for in vain is looked for again a second later.
        try stores.follow([try Endpoint("ipc://\(path)-ingest")])
        for group in SlotGroup.all {
            stores.subscribe(.command(group))
            stores.subscribe(.receiptCommand(group))
            media.subscribe(.mediaCommand(group))
        }
        try media.follow([try Endpoint("ipc://\(path)-ingest")])
        ingest = IngestService(service, configuration, bus: bus)
        server = Server(ingest, limits: configuration.serverLimits)
        port = try server.listen(at: configuration.listen.description)
        stores.onFrame = { [unowned self] frame in receive(frame) }
        media.onFrame = { [unowned self] frame in attach(frame) }
        ingest.start()
        Self.all.append(self)
    }

    /// The erased users of all slots.
    private(set) var erased: [UserID] = []

    private var isConnected: Bool {
        bus.connectedEndpoints.count == 2 && !stores.connectedEndpoints.isEmpty
            && !media.connectedEndpoints.isEmpty && ingest.erased.isComplete
            && ingest.revoked.isComplete
    }

    /// Responds with the last number of a slot, and the names after `query.after`.
    private func respond(_ key: RequestKey, _ query: ErasedUsersQuery) {
        let names = erased.filter { $0.slot == query.slot }
        stores.respond(to: key, status: 200) { buffer in
            buffer.append(bigEndian: Int64(names.count))
            for name in names.dropFirst(Int(query.after)) { buffer.append(name) }
        }
    }

    private(set) var revocations: [Revocation] = []

    /// Responds with the last number of a slot, and the revocations after `query.after`.
    private func respond(_ key: RequestKey, _ query: RevocationsQuery) {
        let all = revocations.filter { $0.user.slot == query.slot }
        stores.respond(to: key, status: 200) { buffer in
            buffer.append(bigEndian: all.last?.number ?? 0)
            for revocation in all where revocation.number > query.after { revocation.write(to: &buffer) }
        }
    }

    /// Revokes the tokens of a user. Without the announcement, ingest learns of it by the number that is published
    /// every second.
    func revoke(_ user: UserID, before: Timestamp, isAnnounced: Bool = true) {
        let last = revocations.last { $0.user.slot == user.slot }?.number ?? 0
        let revocation = Revocation(number: last + 1, user, before: before)
        revocations.append(revocation)
        stores.append(to: .revocation(user.slot.group)) { buffer in
            (isAnnounced ? RevocationEntry(revocation) : RevocationEntry(user.slot, number: last + 1)).write(
                to: &buffer)
        }
    }

    /// Erases a user. Without the announcement, ingest learns of it by the number that is published every second.
    func erase(_ user: UserID, isAnnounced: Bool = true) {
        erased.append(user)
        let count = Int64(erased.count { $0.slot == user.slot })
        stores.append(to: .erasure(user.slot.group)) { buffer in
            ErasureEntry(user.slot, count: count, latest: isAnnounced ? user : nil).write(to: &buffer)
        }
    }

    private func receive(_ frame: InboundFrame) {
        for bytes in frame.entries {
            guard let entry = try? RequestEntry(bytes) else { continue }
            let key = RequestKey(origin: frame.origin, number: entry.number)
            if let known = responses[key] {
                stores.respond(to: key, status: known.status) { $0.append(known.payload) }
                continue
            }
            guard case .new = stores.admit(key) else { continue }
            if case .command = frame.topic, entry.kind == StoreRequestKind.revocations.rawValue {
                var reader = ByteReader(entry.fields)
                if let query = try? RevocationsQuery(from: &reader) { respond(key, query) }
                continue
            }
            if case .command = frame.topic, entry.kind == StoreRequestKind.erasedUsers.rawValue {
                var reader = ByteReader(entry.fields)
                if let query = try? ErasedUsersQuery(from: &reader) { respond(key, query) }
                continue
            }
            guard !takeAct(key, entry) else { continue }
            received += 1
            waiting.append((key, Array(entry.fields)))
            if let immediateResponse { respondToFirst(status: 200) { $0.append(utf8: immediateResponse) } }
        }
    }

    private func takeAct(_ key: RequestKey, _ entry: RequestEntry) -> Bool {
        var reader = ByteReader(entry.fields)
        if entry.kind == StoreRequestKind.recordAct.rawValue, let act = try? RecordAct(from: &reader) {
            acts.append((key, act))
            switch auditLog {
            case .there: recordLast()
            case .away: stores.respond(to: key, Problem(.unavailable, "not now"))
            case .slow: break
            }
        } else if entry.kind == StoreRequestKind.endAct.rawValue, let end = try? EndAct(from: &reader) {
            ends.append(end)
            stores.respond(to: key, status: 200) { _ in }
        } else {
            return false
        }
        return true
    }

    func recordLast() { stores.respond(to: acts.last!.key, status: 200) { _ in } }

    func set(_ auditLog: AuditLog) { self.auditLog = auditLog }

    private func attach(_ frame: InboundFrame) {
        for bytes in frame.entries {
            guard let entry = try? RequestEntry(bytes), entry.kind == MediaRequestKind.attach.rawValue else { continue }
            let key = RequestKey(origin: frame.origin, number: entry.number)
            var reader = ByteReader(entry.fields)
            guard case .new = media.admit(key), let request = try? AttachMedia(from: &reader) else { continue }
            attaching.append((key, request))
        }
    }

    /// Says of each file that media is asked about what `describe` does.
    func attachFirst(_ describe: (MediaID) -> (AttachVerdict, String)) {
        let (key, request) = attaching.removeFirst()
        media.respond(to: key, status: 200) { buffer in
            for message in request.messages {
                buffer.append(UInt8(message.media.count))
                for id in message.media {
                    let (verdict, json) = describe(id)
                    Array(json.utf8).withUnsafeBytes {
                        AttachedFile(id, verdict, descriptor: $0).write(to: &buffer)
                    }
                }
            }
        }
    }

    func refuseAttaching(_ problem: Problem) { media.respond(to: attaching.removeFirst().key, problem) }

    /// Responds to the oldest waiting request.
    func respondToFirst(status: UInt16, _ payload: (inout ByteBuffer) -> Void) {
        var buffer = ByteBuffer()
        payload(&buffer)
        let key = waiting.removeFirst().key
        responses[key] = (status, buffer.array)
        stores.respond(to: key, status: status) { $0.append(buffer.bytes) }
    }

    func refuseFirst(_ problem: Problem) { respondToFirst(status: problem.code.status) { problem.write(to: &$0) } }

    func respondAtOnce(_ json: String?) { immediateResponse = json }

    nonisolated static func head(
        _ method: String, _ path: String, user: String = "anna", isAdministrator: Bool = false,
        issuedAt: Timestamp? = nil,
        body: String = ""
    ) -> String {
        let expiry = Timestamp(milliseconds: Timestamp.now.milliseconds + 60_000)
        let identity = Identity(
            user: UserID(user)!, isAdministrator: isAdministrator, expiresAt: expiry, issuedAt: issuedAt)
        let token = TokenSigner(secret: secret).token(for: identity)
        return "\(method) \(path) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

private let conversation = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
private let other = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d91"

private func message(_ number: Int, to conversation: String? = nil) -> String {
    let id = "0198c2a4-5d10-7c3e-9a41-0000000000\(10 + number)"
    let target = conversation.map { ",\"conversationId\":\"\($0)\"" } ?? ""
    return "{\"id\":\"\(id)\",\"text\":\"number \(number)\"\(target)}"
}

private func send(_ number: Int, user: String = "anna") -> String {
    TestIngest.head("POST", "/v1/conversations/\(conversation)/messages", user: user, body: message(number))
}

@Suite struct IngestServiceTests {
    @Test("a message reaches the store, and the store's response the client, unchanged")
    func passed() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(send(1))
        #expect(await eventually { ingest.waiting.count == 1 })
        let texts = await texts(of: ingest)
        #expect(texts == ["number 1"])
        await respond(ingest, status: 201, "{\"seq\":2}")
        let response = try client.receiveResponse()
        #expect(
            response.status == 201 && response.body == "{\"seq\":2}" && response["Content-Type"] == "application/json")
    }

    @Test("a problem from the store reaches the client as a document")
    func problem() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("GET", "/v1/conversations/\(conversation)"))
        #expect(await eventually { ingest.waiting.count == 1 })
        await ingest.refuseFirst(Problem(.notFound, "there is no such conversation"))
        let response = try client.receiveResponse()
        #expect(response.status == 404 && response["Content-Type"] == "application/problem+json")
        #expect(response.body.contains("\"code\":\"notFound\""))
    }

    @Test("a write reaches the store with its key, and a response without a body stays without one")
    func write() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        let path = "/v1/conversations/\(conversation)/messages/\(other)?scope=everyone"
        let key = "Idempotency-Key: 0198C2A4-5D10-4C3E-9A41-3F0C5B7E2D92\r\n\r\n"
        try client.send(TestIngest.head("DELETE", path).replacing("\r\n\r\n", with: "\r\n" + key))
        #expect(await eventually { ingest.waiting.count == 1 })
        let expected = Write(
            ConversationID(UUIDBytes(conversation)!), by: UserID("anna")!,
            key: UUIDBytes("0198c2a4-5d10-4c3e-9a41-3f0c5b7e2d92"),
            .deleteForEveryone(MessageID(UUIDBytes(other)!)))
        #expect(await write(in: ingest) == expected)
        await ingest.respondToFirst(status: 204) { _ in }
        let response = try client.receiveResponse()
        #expect(response.status == 204 && response.body.isEmpty)
        #expect(response["Content-Type"] == nil && response["Content-Length"] == nil)
    }

    @Test("media is asked before a message with attachments goes to the store, with all that media said")
    func attachments() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        let file = MediaID(UUIDBytes(other)!), absent = MediaID(UUIDBytes(conversation)!)
        let body = #"{"id":"\#(other)","attachments":[{"id":"\#(file)"},{"id":"\#(absent)"}]}"#
        let request = TestIngest.head("POST", "/v1/conversations/\(conversation)/messages", body: body)
        try client.send(request)
        #expect(await eventually { ingest.attaching.count == 1 })
        let asked = await ingest.attaching.first?.request
        let message = MessageID(UUIDBytes(other)!)
        #expect(
            asked
                == AttachMedia(
                    ConversationID(UUIDBytes(conversation)!), by: UserID("anna")!,
                    [MessageMedia(message, [file, absent])]))
        #expect(await ingest.waiting.isEmpty)
        await ingest.attachFirst { $0 == file ? (.ready, "{}") : (.notFound, "") }
        #expect(await eventually { ingest.waiting.count == 1 })
        let sent = await attached(in: ingest)
        #expect(sent == [["ready {}", "notFound "]])
        await respond(ingest, status: 201, "{\"seq\":2}")
        #expect(try client.receiveResponse().body == "{\"seq\":2}")

        try client.send(request)
        #expect(await eventually { ingest.attaching.count == 1 })
        await ingest.refuseAttaching(Problem(.overloaded, "too many requests are in flight"))
        let refused = try client.receiveResponse()
        #expect(refused.status == 503 && refused.body.contains("overloaded"))
        #expect(await ingest.received == 1)
    }

    @Test("without a media service a message with attachments is refused in time, and plain ones are not delayed")
    func withoutMedia() async throws {
        let ingest = try await TestIngest.start(["PARLEY_REQUEST_DEADLINE": "400ms"])
        let client = try RawClient(port: ingest.port)
        let body = #"{"id":"\#(other)","attachments":[{"id":"\#(other)"}]}"#
        try client.send(TestIngest.head("POST", "/v1/conversations/\(conversation)/messages", body: body))
        let response = try client.receiveResponse()
        #expect(response.status == 503 && response["Retry-After"] == "1")
        #expect(response.body.contains("attachments: no media service responds"))
        #expect(await ingest.received == 0)
        try client.send(send(1))
        #expect(await eventually { ingest.waiting.count == 1 })
    }

    @Test("in a batch media is asked once for each conversation with attachments, and the order is kept")
    func attachmentsInBatch() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        let file = #"{"id":"\#(other)","conversationId":"\#(conversation)","attachments":[{"id":"\#(other)"}]}"#
        let items = [message(1, to: conversation), file, message(2, to: other), message(3, to: conversation)]
        let body = "{\"messages\":[\(items.joined(separator: ","))]}"
        try client.send(TestIngest.head("POST", "/v1/messages:batch", body: body))
        #expect(await eventually { ingest.attaching.count == 1 && ingest.waiting.count == 1 })
        #expect(await texts(of: ingest) == ["number 2"])
        await ingest.attachFirst { _ in (.ready, "{}") }
        #expect(await eventually { ingest.waiting.count == 2 })
        await ingest.respondToFirst(status: 200) { buffer in
            SendResponse.append(status: 201, to: &buffer) { $0.append("{}" as StaticString) }
        }
        #expect(await attached(in: ingest) == [[], ["ready {}"], []])
        await ingest.respondToFirst(status: 200) { buffer in
            for _ in 0..<3 { SendResponse.append(status: 201, to: &buffer) { $0.append("{}" as StaticString) } }
        }
        let response = try client.receiveResponse()
        #expect(response.body.split(separator: "{\"status\":201").count == 5)
    }

    /// What the messages of the first waiting request are to carry.
    @Reactor private func attached(in ingest: TestIngest) -> [[String]] {
        ingest.waiting[0].fields.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes), files: [[String]] = []
            try? SendMessages(from: &reader, .attachments).forEachMessage { message in
                files.append([])
                message.attachments.forEach {
                    files[files.count - 1].append("\($0.verdict) \(String(decoding: $0.descriptor, as: UTF8.self))")
                }
            }
            return files
        }
    }

    @Test("a malformed key is refused without a request to the stores")
    func malformedKey() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        let head = TestIngest.head("DELETE", "/v1/conversations/\(conversation)/history")
        try client.send(head.replacing("\r\n\r\n", with: "\r\nIdempotency-Key: 7\r\n\r\n"))
        let response = try client.receiveResponse()
        #expect(response.status == 400 && response.body.contains("\"detail\":\"Idempotency-Key: must be a UUID\""))
        #expect(await ingest.received == 0)
    }

    @Test("without a response by the deadline the client gets 503, and a late response is dropped")
    func deadline() async throws {
        let ingest = try await TestIngest.start(["PARLEY_REQUEST_DEADLINE": "150ms"])
        let client = try RawClient(port: ingest.port)
        try client.send(send(1))
        let response = try client.receiveResponse()
        #expect(
            response.status == 503 && response["Retry-After"] == "1"
                && response.body.contains("\"code\":\"unavailable\""))
        await respond(ingest, status: 201, "{}")
        try client.send(TestIngest.head("GET", "/v1/limits"))
        #expect(try client.receiveResponse().body.contains("\"textBytes\":16384"))
    }

    @Test("a request beyond the limit in flight is refused at once, without a request to the stores")
    func overload() async throws {
        let ingest = try await TestIngest.start(["PARLEY_REQUESTS_IN_FLIGHT": "2"])
        let client = try RawClient(port: ingest.port)
        let third = try RawClient(port: ingest.port)
        try client.send(send(1) + send(2))
        #expect(await eventually { ingest.waiting.count == 2 })
        try third.send(send(3))
        let refused = try third.receiveResponse()
        #expect(
            refused.status == 503 && refused["Retry-After"] == "1" && refused.body.contains("\"code\":\"overloaded\""))
        await respond(ingest, status: 201, "{\"n\":1}")
        #expect(try client.receiveResponse().body == "{\"n\":1}")
        try third.send(send(3))
        #expect(await eventually { ingest.waiting.count == 2 })
        #expect(await ingest.received == 3)
    }

    @Test("a user above the rate is refused, others are not")
    func rate() async throws {
        let ingest = try await TestIngest.start(["PARLEY_RATE_PER_SECOND": "1", "PARLEY_RATE_BURST": "3"])
        await ingest.respondAtOnce("{}")
        let client = try RawClient(port: ingest.port)
        for _ in 0..<4 { try client.send(TestIngest.head("GET", "/v1/settings")) }
        let responses = try (0..<4).map { _ in try client.receiveResponse() }
        #expect(responses.map(\.status) == [200, 200, 200, 429])
        #expect(responses[3]["Retry-After"] == "1" && responses[3].body.contains("\"code\":\"rateLimited\""))
        try client.send(TestIngest.head("GET", "/v1/settings", user: "ben"))
        #expect(try client.receiveResponse().status == 200)
    }

    @Test("a batch is one request per conversation, and its response is in the order of its items")
    func batch() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        let items = [message(1, to: conversation), message(2, to: other), "{}", message(3, to: conversation)]
        let body = "{\"messages\":[\(items.joined(separator: ","))]}"
        try client.send(TestIngest.head("POST", "/v1/messages:batch", body: body))
        #expect(await eventually { ingest.waiting.count == 2 })
        #expect(await texts(of: ingest) == ["number 1", "number 3"])
        await ingest.respondToFirst(status: 200) { buffer in
            for _ in 0..<2 { SendResponse.append(status: 201, to: &buffer) { $0.append("{}" as StaticString) } }
        }
        await ingest.refuseFirst(Problem(.notFound, "there is no such conversation"))
        let response = try client.receiveResponse()
        #expect(response.status == 200)
        #expect(response.body.split(separator: "{\"status\":").dropFirst().map { $0.prefix(3) } == statuses)
    }

    /// A refused item has its status twice: its own, and its problem's.
    private var statuses: [Substring] { ["201", "404", "404", "400", "400", "201"] }

    @Test(
        "a request without a valid token gets a challenge",
        arguments: [
            ("", "Bearer"), ("Authorization: Basic YTpi\r\n", "Bearer"),
            ("Authorization: Bearer x\r\n", "Bearer error=\"invalid_token\""),
        ])
    func unauthenticated(line: String, challenge: String) async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send("GET /v1/conversations HTTP/1.1\r\nHost: h\r\n\(line)\r\n")
        let response = try client.receiveResponse()
        #expect(response.status == 401 && response["WWW-Authenticate"] == challenge)
    }

    @Test("after the response to an erasure the user's tokens are refused, and administrators cannot act for them")
    func erasure() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("DELETE", "/v1/users/anna", user: "backend", isAdministrator: true))
        #expect(await eventually { ingest.waiting.count == 1 })
        await ingest.respondToFirst(status: 202) { $0.append(utf8: "{}") }
        let response = try client.receiveResponse()
        #expect(response.status == 202 && response.body == "{}")
        try client.send(send(1))
        let refused = try client.receiveResponse()
        #expect(refused.status == 401 && refused["WWW-Authenticate"] == "Bearer error=\"invalid_token\"")
        let head = TestIngest.head("GET", "/v1/conversations", user: "backend", isAdministrator: true)
        try client.send(head.replacing("\r\n\r\n", with: "\r\nX-Parley-User: anna\r\n\r\n"))
        #expect(try client.receiveResponse().status == 403)
        #expect(await ingest.received == 1)
    }

    @Test("only an administrator's token erases users")
    func erasureByOthers() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("DELETE", "/v1/users/anna"))
        let response = try client.receiveResponse()
        #expect(response.status == 403 && response.body.contains("\"code\":\"forbidden\""))
        #expect(await ingest.received == 0)
    }

    @Test(
        "an erasure through another ingest takes effect, its announcement lost or not",
        arguments: [true, false])
    func erasureElsewhere(isAnnounced: Bool) async throws {
        let ingest = try await TestIngest.start()
        await ingest.respondAtOnce("{}")
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("GET", "/v1/conversations", user: "anna"))
        #expect(try client.receiveResponse().status == 200)
        await ingest.erase(UserID("anna")!, isAnnounced: isAnnounced)
        let isRefused = try await refused("anna", by: ingest)
        #expect(isRefused)
        try client.send(TestIngest.head("GET", "/v1/conversations", user: "ben"))
        #expect(try client.receiveResponse().status == 200)
    }

    @Test("an act of an administrator is in the audit log before anything of it goes to a store, with its status after")
    func audited() async throws {
        let ingest = try await TestIngest.start()
        await ingest.set(.slow)
        let client = try RawClient(port: ingest.port)
        let path = "/v1/conversations/\(conversation)/members/carla"
        let head = TestIngest.head("PUT", path, user: "backend", isAdministrator: true, body: #"{"role":"owner"}"#)
        try client.send(head.replacing("\r\n\r\n", with: "\r\nX-Parley-User: ben\r\n\r\n"))
        #expect(await eventually { ingest.acts.count == 1 })
        #expect(await ingest.received == 0)
        await ingest.recordLast()
        #expect(await eventually { ingest.waiting.count == 1 })
        #expect(await ingest.ends.isEmpty)
        await ingest.refuseFirst(Problem(.notFound, "there is no such conversation"))
        #expect(try client.receiveResponse().status == 404)
        #expect(await eventually { ingest.ends.count == 1 })
        let act = await ingest.acts[0].act
        #expect(await ingest.ends == [EndAct(act.id, status: 404)])
        #expect(
            act
                == RecordAct(
                    act.id, by: UserID("backend")!, for: UserID("ben")!, call: "putMember",
                    in: ConversationID(UUIDBytes(conversation)!), target: "carla", detail: "owner"))
    }

    @Test("what cannot be recorded is not done", arguments: [true, false])
    func notAudited(isAway: Bool) async throws {
        let ingest = try await TestIngest.start(["PARLEY_REQUEST_DEADLINE": "400ms"])
        await ingest.set(isAway ? .away : .slow)
        let client = try RawClient(port: ingest.port)
        for (method, path, body) in [
            ("DELETE", "/v1/users/anna", ""), ("PUT", "/v1/users/anna/suspension", #"{"mode":"out"}"#),
            ("GET", "/v1/export/users/anna", ""), ("GET", "/v1/export/conversations/\(conversation)", ""),
            ("DELETE", "/v1/import/\(conversation)", ""), ("POST", "/v1/import", "{}\n"),
        ] {
            let client = try RawClient(port: ingest.port)
            try client.send(TestIngest.head(method, path, user: "backend", isAdministrator: true, body: body))
            let response = try client.receiveResponse()
            #expect(response.status == 503, "\(path): \(response)")
        }
        // What is refused for itself is no act, and neither is what users do.
        let acts = await ingest.acts.count
        #expect(acts == 6)
        try client.send(
            TestIngest.head("PUT", "/v1/users/anna/suspension", user: "backend", isAdministrator: true, body: "{}"))
        #expect(try client.receiveResponse().status == 400)
        await ingest.respondAtOnce("{}")
        try client.send(TestIngest.head("PUT", "/v1/settings", body: #"{"presence":false}"#))
        #expect(try client.receiveResponse().status == 200)
        #expect(await ingest.acts.count == acts)
        #expect(await ingest.ends.isEmpty)
    }

    @Test(
        "messages that an administrator sends for users are recorded where that is asked for", arguments: [false, true])
    func auditedSends(isAskedFor: Bool) async throws {
        let ingest = try await TestIngest.start(["PARLEY_AUDIT_SENDS": isAskedFor ? "1" : "0"])
        let client = try RawClient(port: ingest.port)
        let body = #"{"messages":[\#(message(1, to: conversation)),\#(message(2, to: other))]}"#
        let head = TestIngest.head("POST", "/v1/messages:batch", user: "backend", isAdministrator: true, body: body)
        try client.send(head.replacing("\r\n\r\n", with: "\r\nX-Parley-User: ben\r\n\r\n"))
        // One act, of which both requests wait for one record.
        #expect(await eventually { ingest.waiting.count == 2 })
        #expect(await ingest.acts.map(\.act.call) == (isAskedFor ? ["sendMessages"] : []))
    }

    @Test("every call has its name in the contract, and all that change something or export are audited")
    func audit() throws {
        let text = Data(PackageResources.openapi_json)
        let paths = try #require(JSONSerialization.jsonObject(with: text) as? [String: Any])["paths"] as? [String: Any]
        var methods: [String: String] = [:]
        for operations in try #require(paths).values {
            for (method, operation) in try #require(operations as? [String: Any]) {
                if let name = (operation as? [String: Any])?["operationId"] as? String { methods[name] = method }
            }
        }
        #expect(Set(Call.allCases.map(\.name.description)).count == Call.allCases.count)
        for call in Call.allCases {
            let method = try #require(methods[call.name.description], "\(call)")
            let isExport = call == .exportUser || call == .exportConversation
            #expect((call.audit == .never) == (method == "get" && !isExport), "\(call)")
        }
    }

    @Test("after the acknowledgement revoked tokens are refused, and newer ones are not")
    func revocation() async throws {
        let ingest = try await TestIngest.start()
        await ingest.respondAtOnce("{}")
        let client = try RawClient(port: ingest.port)
        let issued = Timestamp(milliseconds: Timestamp.now.milliseconds / 1000 * 1000 - 60_000)
        let old = TestIngest.head("GET", "/v1/conversations", user: "anna", issuedAt: issued)
        try client.send(old)
        #expect(try client.receiveResponse().status == 200)
        await ingest.respondAtOnce(nil)

        try client.send(TestIngest.head("POST", "/v1/users/anna/revoke", user: "backend", isAdministrator: true))
        #expect(await eventually { ingest.waiting.count == 1 })
        await ingest.respondToFirst(status: 200) {
            Revocation(number: 1, UserID("anna")!, before: issued).write(to: &$0)
        }
        #expect(try client.receiveResponse().status == 204)
        await ingest.respondAtOnce("{}")
        let newer = Timestamp(milliseconds: issued.milliseconds + 1000)
        for (head, status) in [
            (old, 401), (TestIngest.head("GET", "/v1/conversations", user: "anna"), 401),
            (TestIngest.head("GET", "/v1/conversations", user: "anna", issuedAt: newer), 200),
            (TestIngest.head("GET", "/v1/conversations", user: "ben"), 200),
        ] {
            try client.send(head)
            #expect(try client.receiveResponse().status == status)
        }
    }

    @Test("only an administrator revokes tokens, and not those of the future")
    func revocationByOthers() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("POST", "/v1/users/anna/revoke"))
        #expect(try client.receiveResponse().status == 403)
        for body in [#"{"before":"2999-01-01T00:00:00Z"}"#, #"{"before":7}"#, #"{"before":"yesterday"}"#, "[]"] {
            try client.send(
                TestIngest.head("POST", "/v1/users/anna/revoke", user: "backend", isAdministrator: true, body: body))
            let response = try client.receiveResponse()
            #expect(
                response.status == 400 && (response.body.contains("before") || body == "[]"),
                "\(body): \(response.body)")
        }
        #expect(await ingest.received == 0)
    }

    @Test(
        "a revocation through another ingest takes effect, its announcement lost or not",
        arguments: [true, false])
    func revocationElsewhere(isAnnounced: Bool) async throws {
        let ingest = try await TestIngest.start()
        await ingest.respondAtOnce("{}")
        await ingest.revoke(UserID("anna")!, before: .now, isAnnounced: isAnnounced)
        let isRefused = try await refused("anna", by: ingest)
        #expect(isRefused)
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("GET", "/v1/conversations", user: "ben"))
        #expect(try client.receiveResponse().status == 200)
    }

    /// Whether a user's token is refused within some seconds.
    private func refused(_ user: String, by ingest: TestIngest) async throws -> Bool {
        let client = try RawClient(port: ingest.port)
        for _ in 0..<500 {
            try client.send(TestIngest.head("GET", "/v1/conversations", user: user))
            if try client.receiveResponse().status == 401 { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    @Test("a token that is revoked while the body arrives is refused", arguments: [false, true])
    func refusedMeanwhile(isErased: Bool) async throws {
        let ingest = try await TestIngest.start()
        await ingest.respondAtOnce("{}")
        let client = try RawClient(port: ingest.port), anna = UserID("anna")!
        let request = send(1)
        try client.send(String(request.dropLast(5)))
        // When the response to another request is here, the head was admitted.
        let other = try RawClient(port: ingest.port)
        try other.send(TestIngest.head("GET", "/v1/conversations", user: "ben"))
        #expect(try other.receiveResponse().status == 200)
        if isErased { await ingest.erase(anna) } else { await ingest.revoke(anna, before: .now) }
        let isRefused = try await refused("anna", by: ingest)
        #expect(isRefused)
        let before = await ingest.received
        try client.send(String(request.suffix(5)))
        let response = try client.receiveResponse()
        #expect(response.status == 401 && response["WWW-Authenticate"] != nil)
        #expect(await ingest.received == before)
    }

    @Test("two users on one connection are kept apart")
    func changingUsers() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        for user in ["anna", "ben", "anna"] { try client.send(send(1, user: user)) }
        #expect(await eventually { ingest.waiting.count == 3 })
        #expect(await senders(of: ingest) == ["anna", "ben", "anna"])
    }

    @Test("reports are asked for in every slot, 16 at a time, and are one page in their order")
    func reports() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("GET", "/v1/reports?limit=3", user: "backend", isAdministrator: true))
        var slots: Set<Slot> = []
        for round in 1...16 {
            #expect(await eventually { ingest.waiting.count == 16 })
            #expect(await ingest.received == 16 * round)
            for _ in 0..<16 { slots.insert(try await respondAboutReports(ingest)) }
        }
        #expect(slots.count == Slot.count)
        let response = try client.receiveResponse()
        let id = UUIDBytes.zero.description
        #expect(response.status == 200)
        #expect(response.body == #"{"reports":[255,254,253],"nextCursor":"3_\#(id)_\#(id)"}"#)
    }

    @Test("a slot without a response to reports is one too few")
    func reportsInPart() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(TestIngest.head("GET", "/v1/reports", user: "backend", isAdministrator: true))
        #expect(await eventually { ingest.waiting.count == 16 })
        await ingest.refuseFirst(Problem(.unavailable, "not now"))
        #expect(try client.receiveResponse().status == 503)
        // The others have theirs for nothing, and nobody else is asked.
        for _ in 0..<15 { _ = try await respondAboutReports(ingest) }
        try client.send(TestIngest.head("GET", "/v1/limits"))
        #expect(try client.receiveResponse().status == 200)
        #expect(await ingest.received == 16)
    }

    @Test("a drain ends when no request is in flight")
    func drain() async throws {
        let ingest = try await TestIngest.start()
        let client = try RawClient(port: ingest.port)
        try client.send(send(1))
        #expect(await eventually { ingest.waiting.count == 1 })
        async let drained: Void = ingest.server.drain(deadline: .seconds(60))
        #expect(await eventually { ingest.server.isDraining })
        await respond(ingest, status: 201, "{}")
        let response = try client.receiveResponse()
        #expect(response.status == 201 && response["Connection"] == "close")
        client.close()
        await drained
        #expect(throws: RawClient.Failure.self) { try RawClient(port: ingest.port) }
    }

    // MARK: The stores' side

    @Reactor private func respond(_ ingest: TestIngest, status: UInt16, _ json: String) {
        ingest.respondToFirst(status: 200) { buffer in
            SendResponse.append(status: status, to: &buffer) { $0.append(utf8: json) }
        }
    }

    /// Responds with one report, which is the earlier the higher its slot is. Returns the slot.
    @Reactor private func respondAboutReports(_ ingest: TestIngest) throws -> Slot {
        let query = try ingest.waiting[0].fields.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try ReportsQuery(from: &reader)
        }
        #expect(query.areOpen && query.after == .start && query.administrator == UserID("backend"))
        var place = ReportCursor.start
        place.createdAt = Timestamp(milliseconds: Int64(Slot.count) - Int64(query.slot.number))
        ingest.respondToFirst(status: 200) { buffer in
            ReportsOfSlot.writeHead(hasMore: false, to: &buffer)
            ReportsOfSlot.append(at: place, to: &buffer) { $0.append(utf8: "\(query.slot.number)") }
        }
        return query.slot
    }

    /// The texts in the oldest waiting request.
    @Reactor private func texts(of ingest: TestIngest) -> [String] {
        var texts: [String] = []
        ingest.waiting[0].fields.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            try? SendMessages(from: &reader).forEachMessage { texts.append(String(decoding: $0.text, as: UTF8.self)) }
        }
        return texts
    }

    /// The oldest waiting write.
    @Reactor private func write(in ingest: TestIngest) -> Write? {
        ingest.waiting[0].fields.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            return try? Write(from: &reader)
        }
    }

    @Reactor private func senders(of ingest: TestIngest) -> [String] {
        ingest.waiting.map { request in
            request.fields.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                return (try? SendMessages(from: &reader).sender.name) ?? ""
            }
        }
    }
}
