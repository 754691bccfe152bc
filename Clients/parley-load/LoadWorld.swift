import Bytes
import CommandSupport
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// The users, conversations and sessions of a run, with their measurements and checks.
@Reactor
final class LoadWorld: LoadSessionOwner {
    let settings: LoadSettings
    let http: HTTPClient
    let api: ParleyAPI
    let meter = LoadMeter()
    let processes: ProcessMeter
    private(set) var identities: [LoadIdentity] = []
    private(set) var conversations: [LoadConversation] = []
    private(set) var sessions: [LoadSession] = []
    private(set) var mismatches = MismatchList()
    private(set) var reconnections = 0
    private(set) var reloads = 0
    /// Called on arrivals. Set by scenarios whose users react to them.
    var onArrival: ((ArrivedChange, LoadConversation, LoadSession, MonotonicTime) -> Void)?
    var onStatus: ((StatusView, LoadConversation, LoadSession, MonotonicTime) -> Void)?
    private var whenWelcome: ((LoadSession) -> Void)?

    init(_ settings: LoadSettings) {
        self.settings = settings
        http = HTTPClient(settings.connection.http, connectionsPerEndpoint: 8)
        api = ParleyAPI(http: http)
        processes = ProcessMeter(SystemProcesses(state: settings.state))
    }

    func stage(_ text: String) { Terminal.tell("\(text) …") }

    func complain(_ text: String) { mismatches.add(text) }
    func complain(_ others: MismatchList) { mismatches.add(others) }

    // MARK: Users

    /// - Returns: the numbers of the new users.
    func makeUsers(_ count: Int) -> Range<Int> {
        let first = identities.count
        for number in first..<first + count {
            let user = UserID("load-\(settings.runName)-\(number)")!
            identities.append(
                LoadIdentity(
                    run: settings.run, number: number, user: user, token: settings.connection.tokens.token(for: user),
                    api: api))
        }
        return first..<first + count
    }

    func identity(_ user: Int) -> LoadIdentity { identities[user] }

    // MARK: Conversations

    /// Creates direct conversations of the given pairs.
    func createPairs(_ pairs: [(Int, Int)]) async throws(APIError) -> [LoadConversation] {
        let bodies = pairs.map { ConversationBody.direct(with: identities[$0.1].user) }
        return try await create(pairs.map { [$0.0, $0.1] }, bodies)
    }

    /// Creates groups of the given users. The first user of each is its owner.
    func createGroups(_ groups: [[Int]]) async throws(APIError) -> [LoadConversation] {
        let bodies = groups.map { members in
            let first = members.dropFirst().prefix(ConversationBody.mostMembers)
            return ConversationBody.group(of: first.map { identities[$0].user })
        }
        let created = try await create(groups, bodies)
        for group in created where group.members.count > ConversationBody.mostMembers + 1 {
            try await addRest(to: group)
        }
        return created
    }

    private func create(_ members: [[Int]], _ bodies: [[UInt8]]) async throws(APIError) -> [LoadConversation] {
        var heads = Array(repeating: ConversationHead?.none, count: members.count)
        try await BulkRequests.run(members.count, over: http) { [self] number in
            HTTPRequest(
                method: "POST", path: "/v1/conversations", token: identities[members[number][0]].token,
                body: bodies[number])
        } handle: { number, response in
            heads[number] = try ConversationHead(document: response.body)
        }
        let first = conversations.count
        for (offset, head) in heads.enumerated() {
            guard let head, let id = head.id else { throw APIError(request: "creating", status: 0, detail: "no id") }
            conversations.append(
                LoadConversation(id, number: first + offset, members: members[offset], lastSeq: head.lastSeq))
        }
        return Array(conversations[first...])
    }

    /// Adds the members beyond those that one request may name.
    private func addRest(to group: LoadConversation) async throws(APIError) {
        let rest = group.members.dropFirst(ConversationBody.mostMembers + 1)
        let owner = identities[group.members[0]].token
        try await BulkRequests.run(rest.count, over: http) { [self] number in
            let user = identities[rest[rest.startIndex + number]].user
            return HTTPRequest(
                method: "PUT", path: "/v1/conversations/\(group.id)/members/\(user)", token: owner,
                body: Array("{}".utf8))
        } handle: { _, _ in
        }
        let body = try await api.call(HTTPRequest(path: "/v1/conversations/\(group.id)", token: owner))
        if let head = try? body.withUnsafeBytes(ConversationHead.init(document:)) { group.advance(to: head.lastSeq) }
    }

    // MARK: Sessions

    /// Opens a session per user with the given conversations. All are live when this returns.
    func connect(_ users: [(user: Int, conversations: [LoadConversation])], atOnce: Int = 500) async throws(APIError) {
        let endpoints = settings.connection.webSocket
        let new = users.map { user, conversations in
            LoadSession(
                identities[user], endpoint: endpoints[user % endpoints.count], conversations: conversations, owner: self
            )
        }
        sessions += new
        try await start(new, atOnce: atOnce, within: .seconds(120))
    }

    /// Starts sessions and returns when all of them are live.
    func start(_ sessions: [LoadSession], atOnce: Int, within limit: Duration) async throws(APIError) {
        var next = min(atOnce, sessions.count)
        whenWelcome = { _ in
            guard next < sessions.count else { return }
            next += 1
            sessions[next - 1].start()
        }
        for session in sessions.prefix(next) { session.start() }
        let start = MonotonicTime.now
        while let waiting = sessions.first(where: { !$0.isLive }) {
            guard MonotonicTime.now - start < limit else {
                throw APIError(
                    request: "connecting \(identities[waiting.user].user)", status: 0, detail: "not live after \(limit)"
                )
            }
            await Reactor.sleep(for: .milliseconds(2))
        }
        whenWelcome = nil
    }

    func welcomed(_ session: LoadSession) {
        meter.answered(dueAt: session.startedAt, at: .now)
        whenWelcome?(session)
    }

    func arrived(
        _ change: ArrivedChange, in conversation: LoadConversation, of session: LoadSession, at now: MonotonicTime
    ) {
        if let due = change.due, due >= session.startedAt {
            let acknowledged = conversation.recentFrames?.acknowledgement(of: change.seq)
            meter.delivered(dueAt: due, acknowledged: acknowledged, at: now)
        }
        if change.message != nil { conversation.noteArrival() }
        onArrival?(change, conversation, session, now)
    }

    func gotStatus(
        _ status: StatusView, of conversation: LoadConversation, to session: LoadSession, at now: MonotonicTime
    ) {
        meter.gotStatus()
        onStatus?(status, conversation, session, now)
    }

    func broken(_ promise: String, of session: LoadSession) {
        mismatches.add("\(identities[session.user].user): \(promise)")
    }

    func reloading(_: LoadSession) { reloads += 1 }

    func lost(_: LoadSession, _: String) { reconnections += 1 }
}

/// Bodies of `POST /v1/conversations`.
enum ConversationBody {
    /// The maximum number of members in a request.
    static let mostMembers = 1000

    static func direct(with user: UserID) -> [UInt8] { body("direct", [user], id: nil) }

    static func group(of users: [UserID]) -> [UInt8] { body("group", users, id: .makeTimeOrdered()) }

    private static func body(_ kind: StaticString, _ members: [UserID], id: UUIDBytes?) -> [UInt8] {
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: "id", json: id)
        body.append(key: "kind", json: kind)
        body.append(key: "members")
        body.beginArray()
        for member in members { body.append(element: member) }
        body.endArray()
        body.endObject()
        return body.array
    }
}
