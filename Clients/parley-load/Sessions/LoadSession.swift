import Bytes
import JSON
import Models
import ParleyClient
import Reactor
import ReactorTransport

@Reactor
protocol LoadSessionOwner: AnyObject {
    /// Called when the session is live.
    func welcomed(_ session: LoadSession)
    /// Called with the next change of a conversation. Must be quick, as it runs for thousands of sessions.
    func arrived(
        _ change: ArrivedChange, in conversation: LoadConversation, of session: LoadSession, at now: MonotonicTime)
    func gotStatus(
        _ status: StatusView, of conversation: LoadConversation, to session: LoadSession, at now: MonotonicTime)
    /// Called when the server broke a promise of its contract.
    func broken(_ promise: String, of session: LoadSession)
    func reloading(_ session: LoadSession)
    func lost(_ session: LoadSession, _ reason: String)
}

/// One of very many sessions: a WebSocket that resumes from its cursors when lost. It checks that every change of its
/// conversations comes once and in order.
@Reactor
final class LoadSession: WebSocketOwner {
    struct Stream {
        let conversation: LoadConversation
        var check: StreamCheck
    }

    /// The user's number in the run.
    let user: Int
    private let identity: LoadIdentity
    private let endpoint: Endpoint
    private unowned let owner: any LoadSessionOwner
    private var socket: WebSocketConnection?
    private(set) var streams: [Stream]
    /// Indexes into `streams`, for users with many conversations.
    private let places: [ConversationID: Int]
    /// The index of the previous change's stream. The next change is mostly in the same one.
    private var latest = 0
    private(set) var isLive = false
    /// When the user began to connect. What was due before was missed and does not measure the server.
    private(set) var startedAt = MonotonicTime.now
    private(set) var pongs = 0
    private var hasEnded = false
    private var isDropped = false
    /// The number of conversations being paged over HTTP.
    private(set) var reloads = 0

    private static let pause = Duration.milliseconds(200)

    init(_ identity: LoadIdentity, endpoint: Endpoint, conversations: [LoadConversation], owner: any LoadSessionOwner) {
        user = identity.number
        self.identity = identity
        self.endpoint = endpoint
        self.owner = owner
        streams = conversations.map { conversation in
            Stream(
                conversation: conversation,
                check: StreamCheck(
                    run: identity.run, conversation: conversation.number, after: conversation.lastSeq,
                    tally: conversation.acknowledged))
        }
        places =
            conversations.count < 2
            ? [:] : Dictionary(uniqueKeysWithValues: conversations.enumerated().map { ($1.id, $0) })
    }

    func start() {
        startedAt = .now
        isDropped = false
        connect()
    }

    private func connect() {
        guard !hasEnded else { return }
        socket = WebSocketConnection(endpoint, owner: self)
        if socket == nil { closed("\(endpoint) cannot be reached") }
    }

    /// Disconnects without closing, as a phone does. `start` resumes.
    func drop() {
        isDropped = true
        socket?.close()
        socket = nil
        isLive = false
    }

    func end() {
        hasEnded = true
        drop()
    }

    /// Whether everything acknowledged has arrived.
    var isCaughtUp: Bool {
        reloads == 0 && streams.allSatisfy { $0.check.next > $0.conversation.lastSeq }
    }

    func send(_ body: (inout ByteBuffer) -> Void) { socket?.send(body) }

    // MARK: Connection

    func opened() {
        send { hello in
            hello.beginObject()
            hello.append(key: "type", json: "hello" as StaticString)
            hello.append(key: "token", json: identity.token)
            hello.append(key: "cursors")
            hello.beginObject()
            for stream in streams {
                hello.append(dynamicKey: stream.conversation.id.description)
                hello.append(decimal: stream.check.next - 1)
            }
            hello.endObject()
            hello.endObject()
        }
    }

    func closed(_ reason: String) {
        socket = nil
        isLive = false
        guard !hasEnded else { return }
        owner.lost(self, reason)
        Reactor.after(Self.pause) { [self] in if socket == nil, !isDropped { connect() } }
    }

    // MARK: Frames

    func received(_ text: UnsafeRawBufferPointer) {
        let now = socket?.lastReceived ?? .now
        if let shared = known(text) { return take(shared, at: now) }
        if let change = ArrivedChange(usualFrame: text) {
            take(change, at: now)
            streams[latest].conversation.recentFrames?.remember(change, text)
        } else {
            readUnusual(text, at: now)
        }
    }

    /// Returns what another member of the room got at the same position.
    private func known(_ text: UnsafeRawBufferPointer) -> ArrivedChange? {
        guard latest < streams.count, let recent = streams[latest].conversation.recentFrames else { return nil }
        return recent.change(at: streams[latest].check.next, text)
    }

    private func take(_ change: ArrivedChange, at now: MonotonicTime) {
        guard find(change.conversation) else { return owner.broken("a change of a strange conversation", of: self) }
        let verdict = streams[latest].check.take(change)
        if case .broken(let promise) = verdict { owner.broken(promise, of: self) }
        owner.arrived(change, in: streams[latest].conversation, of: self, at: now)
    }

    /// Sets `latest` to the index of the conversation.
    private func find(_ conversation: ConversationID) -> Bool {
        if latest < streams.count, streams[latest].conversation.id == conversation { return true }
        guard let place = places[conversation] else { return false }
        latest = place
        return true
    }

    private func readUnusual(_ text: UnsafeRawBufferPointer, at now: MonotonicTime) {
        do throws(JSONError) {
            let frame = try ServerFrame(text)
            if let change = frame.change { return take(try ArrivedChange(change: change), at: now) }
            handle(frame, at: now)
        } catch {
            owner.broken("a frame is not what the contract says: \(error)", of: self)
        }
    }

    private func handle(_ frame: ServerFrame, at now: MonotonicTime) {
        switch frame.type {
        case "welcome":
            isLive = true
            owner.welcomed(self)
        case "status":
            if let id = frame.conversation, find(id) {
                owner.gotStatus(frame.status, of: streams[latest].conversation, to: self, at: now)
            }
        case "pong": pongs += 1
        case "reload": reload(frame)
        case "reset": owner.broken("told to begin anew (reset)", of: self)
        default: break
        }
    }

    // MARK: Reload

    private func reload(_ frame: ServerFrame) {
        guard let id = frame.conversation, let lastSeq = frame.lastSeq, find(id) else {
            return owner.broken("a reload of a strange conversation", of: self)
        }
        owner.reloading(self)
        let place = latest
        let gap = streams[place].check.skip(to: lastSeq)
        reloads += 1
        Reactor.spawn { [self] in
            await page(place, gap)
            reloads -= 1
        }
    }

    private func page(_ place: Int, _ gap: Range<Int64>) async {
        let conversation = streams[place].conversation.id
        var seq = gap.lowerBound - 1
        do {
            while seq + 1 < gap.upperBound {
                let page = try await identity.api.changes(of: conversation, after: seq, token: identity.token)
                let changes = try page.changes.map { try $0.withUnsafeBytes { try ArrivedChange(change: $0) } }
                for change in changes where gap.contains(change.seq) { streams[place].check.takePaged(change) }
                guard let last = changes.last?.seq else { break }
                seq = last
            }
        } catch {
            owner.broken("the changes behind \(seq) of \(conversation) cannot be read: \(error)", of: self)
        }
    }
}
