import Bytes
import CommandSupport
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport
import ServiceKit

/// Performs actions one at a time by the schedule, and checks that each has an acceptable outcome.
@Reactor
final class DayTraffic: LoadConnectionOwner {
    nonisolated static let connections = 32

    /// An action that was started, kept in case it must be repeated.
    private struct Deed {
        let action: DayAction
        let conversation: LoadConversation
        let user: Int
        let request: HTTPRequest
    }

    private let world: LoadWorld
    private let pairs: [LoadConversation]
    private let groups: [LoadConversation]
    private let mixture: DayMixture
    private let rate: Int
    private var connections: [LoadConnection] = []
    private var deeds: [Int: Deed] = [:]
    /// The last acknowledged message by conversation, with its sender. Others react to it.
    private var latest: [Int: (message: MessageID, sender: Int)] = [:]
    private var random = SystemRandomNumberGenerator()
    private var pacer: Pacer?
    private var begun = 0
    private var isRunning = false
    private var repeats = RepeatQueue()
    /// The read positions that users still have to report, by user and conversation.
    private var unread: [Int: [ConversationID: Int64]] = [:]
    private let epochMilliseconds =
        UInt64(max(0, Timestamp.now.milliseconds)) &- MonotonicTime.now.nanoseconds / 1_000_000
    private(set) var repetitions = 0
    private(set) var returns = 0
    private(set) var typed = 0
    /// The time from when an action was due to its response.
    private(set) var latencies: [DayAction: Histogram] = [:]

    private static let pause = Duration.milliseconds(100)
    /// The time from a message's arrival until a user has read it.
    private static let readingTime = Duration.milliseconds(300)
    private static let absence = Duration.milliseconds(700)

    init(_ world: LoadWorld, pairs: [LoadConversation], groups: [LoadConversation], mixture: DayMixture, rate: Int) {
        self.world = world
        self.pairs = pairs
        self.groups = groups
        self.mixture = mixture
        self.rate = rate
        let endpoints = world.settings.connection.http
        connections = (0..<Self.connections).map { LoadConnection(endpoints[$0 % endpoints.count], owner: self) }
    }

    func start() {
        isRunning = true
        world.onArrival = { [self] change, conversation, session, _ in noteUnread(change, conversation, session) }
        pacer = Pacer(rate: rate) { [unowned self] due in begin(mixture.next(using: &random), due: due) }
        tick()
    }

    func stop() async {
        isRunning = false
        pacer?.stop()
        let start = MonotonicTime.now
        while !deeds.isEmpty, MonotonicTime.now - start < world.settings.settle {
            await Reactor.sleep(for: .milliseconds(10))
        }
        if !deeds.isEmpty { world.complain("\(deeds.count) requests were never answered") }
        await Reactor.sleep(for: Self.absence)  // Users who are away come back.
    }

    private func tick() {
        Reactor.after(.milliseconds(20)) { [self] in
            guard isRunning || !deeds.isEmpty else { return }
            for request in repeats.takeDue(at: .now) { send(request) }
            tick()
        }
    }

    // MARK: Actions

    private func begin(_ action: DayAction, due: MonotonicTime) {
        let conversation = conversation(for: action)
        let user = conversation.members.randomElement(using: &random)!
        switch action {
        case .comeAndGo: comeAndGo()
        case .type: type(in: conversation)
        default:
            guard let deed = deed(action, user, conversation, due: due) else { return }
            deeds[begun] = deed
            begun += 1
            send(Outstanding(work: 0, number: begun - 1, due: due))
        }
    }

    private func conversation(for action: DayAction) -> LoadConversation {
        switch action {
        case .write: pairs.randomElement(using: &random)!
        case .writeToRoom: groups.last!
        case .writeToGroup: groups.randomElement(using: &random)!
        default:
            Bool.random(using: &random) ? pairs.randomElement(using: &random)! : groups.randomElement(using: &random)!
        }
    }

    /// Returns nil when there is nothing to react to.
    private func deed(
        _ action: DayAction, _ user: Int, _ conversation: LoadConversation, due: MonotonicTime
    ) -> Deed? {
        let path = "/v1/conversations/\(conversation.id)"
        switch action {
        case .write, .writeToGroup, .writeToRoom:
            return message(action, user, conversation, due: due)
        case .scroll:
            let position = Int64.random(in: 2...max(2, conversation.lastSeq + 1), using: &random)
            return get(action, "\(path)/messages?before=\(position)&limit=50", user, conversation)
        case .listConversations: return get(action, "/v1/conversations?limit=50", user, conversation)
        case .sync: return get(action, "/v1/sync", user, conversation)
        case .tapback, .edit, .delete:
            guard let (message, sender) = latest[conversation.number] else { return nil }
            let write = action.write(of: message, in: path)
            let token = world.identity(action == .tapback ? user : sender).token
            return Deed(
                action: action, conversation: conversation, user: sender,
                request: HTTPRequest(
                    method: write.method, path: write.path, token: token, body: write.body,
                    idempotencyKey: .makeTimeOrdered()))
        case .type, .comeAndGo: return nil
        }
    }

    private func get(_ action: DayAction, _ path: String, _ user: Int, _ conversation: LoadConversation) -> Deed {
        Deed(
            action: action, conversation: conversation, user: user,
            request: HTTPRequest(path: path, token: world.identity(user).token))
    }

    private func message(
        _ action: DayAction, _ user: Int, _ conversation: LoadConversation, due: MonotonicTime
    ) -> Deed {
        let number = MessageNumber(
            run: world.settings.run, conversation: conversation.number, number: conversation.takeNumber())
        var text = ByteBuffer()
        text.append(count: LoadText.digits) { LoadText.write(due, to: $0) }
        text.append(world.settings.text.words)
        let outgoing = OutgoingMessage(
            conversation: conversation.id,
            id: number.id(milliseconds: due.nanoseconds / 1_000_000 &+ epochMilliseconds),
            text: String(decoding: text.bytes, as: UTF8.self))
        return Deed(
            action: action, conversation: conversation, user: user,
            request: outgoing.request(token: world.identity(user).token))
    }

    private func send(_ request: Outstanding) {
        guard let deed = deeds[request.number] else { return }
        let connection = connections[request.number % connections.count]
        connection.send(request) { deed.request.write(host: connection.endpoint.authority, to: &$0) }
    }

    // MARK: Over the socket

    private func type(in conversation: LoadConversation) {
        if world.meter.covers(.now) { typed += 1 }
        world.sessions.randomElement(using: &random)?.send { frame in
            frame.beginObject()
            frame.append(key: "type", json: "typing" as StaticString)
            frame.append(key: "conversationId", json: conversation.id)
            frame.append(key: "active", json: true)
            frame.endObject()
        }
    }

    private func comeAndGo() {
        guard let session = world.sessions.randomElement(using: &random), session.isLive else { return }
        session.drop()
        if world.meter.covers(.now) { returns += 1 }
        Reactor.after(Self.absence) { session.start() }
    }

    private func noteUnread(_ change: ArrivedChange, _ conversation: LoadConversation, _ session: LoadSession) {
        if unread[session.user] == nil {
            unread[session.user] = [:]
            Reactor.after(Self.readingTime) { [self] in tellRead(session) }
        }
        unread[session.user]?[conversation.id] = change.seq
    }

    private func tellRead(_ session: LoadSession) {
        guard let positions = unread.removeValue(forKey: session.user), session.isLive else { return }
        world.meter.signalled()
        session.send { frame in
            frame.beginObject()
            frame.append(key: "type", json: "read" as StaticString)
            frame.append(key: "items")
            frame.beginArray()
            for (conversation, seq) in positions {
                frame.beginElement()
                frame.beginObject()
                frame.append(key: "conversationId", json: conversation)
                frame.append(key: "seq", json: seq)
                frame.endObject()
            }
            frame.endArray()
            frame.endObject()
        }
    }

    // MARK: Responses

    func answered(_ request: Outstanding, _ response: Response, on _: LoadConnection) {
        guard let deed = deeds[request.number] else { return }
        if Reply.isTemporary(response.status) { return again(request, after: response.retryAfter ?? Self.pause) }
        deeds[request.number] = nil
        if world.meter.covers(request.due) {
            latencies[deed.action, default: Histogram()]
                .record(nanoseconds: MonotonicTime.now.nanoseconds &- request.due.nanoseconds)
        }
        if !deed.action.mayEnd(in: response.status) {
            world.complain("\(deed.action): status \(response.status) \(problemDetail(response.body))")
        } else if deed.action.isMessage {
            acknowledge(deed, request, response)
        } else {
            world.meter.answered(dueAt: request.due, at: .now)
        }
    }

    func lost(_ request: Outstanding, on _: LoadConnection) { again(request, after: Self.pause) }

    private func acknowledge(_ deed: Deed, _ request: Outstanding, _ response: Response) {
        guard let message = AcknowledgedMessage(fast: response.body) else {
            return world.complain("\(deed.action): an answer that is no message")
        }
        let now = MonotonicTime.now
        deed.conversation.acknowledge(MessageNumber(message.id).number, seq: message.seq, at: now)
        world.meter.acknowledged(dueAt: request.due, at: now)
        latest[deed.conversation.number] = (message.id, deed.user)
    }

    private func again(_ request: Outstanding, after pause: Duration) {
        repetitions += 1
        repeats.add(request, at: .now + pause)
    }

    /// Learns the last position of every conversation, as not every write returns its position.
    func learnPositions() async throws(APIError) {
        let conversations = world.conversations
        try await BulkRequests.run(conversations.count, over: world.http) { [self] number in
            let conversation = conversations[number]
            return HTTPRequest(
                path: "/v1/conversations/\(conversation.id)", token: world.identity(conversation.members[0]).token)
        } handle: { number, response in
            conversations[number].advance(to: try ConversationHead(document: response.body).lastSeq)
        }
    }
}
