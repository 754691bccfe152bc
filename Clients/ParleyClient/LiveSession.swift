import Bytes
import JSON
import Models
import Reactor
import ReactorTransport

@Reactor
public protocol LiveSessionOwner: AnyObject {
    /// Called when the session is live. Missed changes follow, then new ones.
    func welcomed()
    /// Called with the next change of a conversation, as encoded JSON that is valid until this returns.
    func changed(_ head: ChangeHead, _ encoded: UnsafeRawBufferPointer)
    /// Called with any other frame.
    func received(_ frame: ServerFrame)
    /// Called when the server broke a promise of its contract.
    func broken(_ promise: String)
    /// Called before the session reconnects after `delay`, or with nil when it has ended for good.
    func disconnected(_ reason: String, reconnectingAfter delay: Duration?)
}

/// The live session of one user: a WebSocket that reconnects when lost and resumes from its cursors. Every change of
/// every conversation comes once and in order.
@Reactor
public final class LiveSession: WebSocketOwner {
    private let endpoints: [Endpoint]
    private let makeToken: () -> String
    private let api: ParleyAPI
    private weak var owner: (any LiveSessionOwner)?

    private var socket: WebSocketConnection?
    private var endpointNumber: Int
    private var cursors: [ConversationID: StreamCursor]
    /// Changes that arrived during a reload of their conversation.
    private var held: [ConversationID: [[UInt8]]] = [:]
    private var pause = firstPause
    /// The `bye` frame of the server, with its reason and delay.
    private var farewell: ServerFrame?
    private var hasEnded = false
    private var knowsAllConversations = false

    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(5)
    /// The server pings every 25 s.
    private static let silenceLimit = Duration.seconds(60)

    /// - Parameter endpoint: the first endpoint to use. The next one follows when the connection is lost.
    public init(
        _ endpoints: [Endpoint], startingAt endpoint: Int = 0, api: ParleyAPI, cursors: [ConversationID: Int64],
        owner: any LiveSessionOwner, token: @escaping () -> String
    ) {
        self.endpoints = endpoints
        endpointNumber = endpoint
        self.api = api
        self.cursors = cursors.mapValues { StreamCursor(after: $0) }
        self.owner = owner
        makeToken = token
    }

    public func start() {
        connect()
        watchSilence()
    }

    public func end() {
        hasEnded = true
        socket?.close()
        socket = nil
    }

    public func position(in conversation: ConversationID) -> Int64? { cursors[conversation]?.seq }

    public func send(_ body: (inout ByteBuffer) -> Void) { socket?.send(body) }

    // MARK: Connection

    private func connect() {
        guard !hasEnded else { return }
        let endpoint = endpoints[endpointNumber % endpoints.count]
        endpointNumber += 1
        socket = WebSocketConnection(endpoint, owner: self)
        if socket == nil { closed("\(endpoint) cannot be reached") }
    }

    public func opened() {
        let token = makeToken()
        send { hello in
            hello.beginObject()
            hello.append(key: "type", json: "hello")
            hello.append(key: "token", json: token)
            hello.append(key: "cursors")
            hello.beginObject()
            for (conversation, cursor) in cursors {
                if let seq = cursor.seq {
                    hello.append(dynamicKey: conversation.description)
                    hello.append(decimal: seq)
                }
            }
            hello.endObject()
            hello.endObject()
        }
    }

    public func closed(_ reason: String) {
        socket = nil
        guard !hasEnded else { return }
        let isFinal = farewell?.code == "unauthenticated" || farewell?.code == "superseded"
        let reason = farewell.map { "\($0.code ?? "bye"): \($0.reason ?? reason)" } ?? reason
        let delay = farewell?.retryAfter.map { Duration.seconds($0) } ?? pause
        farewell = nil
        pause = min(pause * 2, Self.longestPause)
        guard !isFinal else {
            hasEnded = true
            owner?.disconnected(reason, reconnectingAfter: nil)
            return
        }
        owner?.disconnected(reason, reconnectingAfter: delay)
        Reactor.after(delay) { [weak self] in self?.connect() }
    }

    /// Detects a peer that vanished without closing by its silence.
    private func watchSilence() {
        Reactor.after(.seconds(5)) { [weak self] in
            guard let self, !hasEnded else { return }
            if let socket, MonotonicTime.now - socket.lastReceived > Self.silenceLimit {
                socket.close()
                closed("the server is silent")
            }
            watchSilence()
        }
    }

    // MARK: Frames

    public func received(_ text: UnsafeRawBufferPointer) {
        do throws(JSONError) {
            handle(try ServerFrame(text))
        } catch {
            owner?.broken("a frame is not what the contract says: \(error)")
        }
    }

    private func handle(_ frame: ServerFrame) {
        switch frame.type {
        case "change": if let change = frame.change { take(change) { $0.offer($1) } }
        case "welcome": welcome(frame)
        case "reload": reload(frame)
        case "reset": reset(frame)
        case "tokenExpiring": renewToken()
        case "bye": farewell = frame
        default:
            if let id = frame.conversation, let lastSeq = frame.lastSeq {  // conversation.joined
                cursors[id, default: StreamCursor()].advance(to: lastSeq)
            }
            owner?.received(frame)
        }
    }

    private func welcome(_ frame: ServerFrame) {
        pause = Self.firstPause
        remember(frame.conversations)
        if frame.hasMore, !knowsAllConversations { Reactor.spawn { [self] in await rememberAllConversations() } }
        knowsAllConversations = true
        owner?.welcomed()
    }

    /// Adds cursors for quiet conversations. Without one, changes during an interruption are missed.
    private func remember(_ conversations: [ConversationHead]) {
        for conversation in conversations {
            guard let id = conversation.id, cursors[id]?.seq == nil else { continue }
            cursors[id] = StreamCursor(after: conversation.lastSeq)
        }
    }

    private func rememberAllConversations() async {
        var cursor: String?
        repeat {
            guard !hasEnded, let page = try? await api.conversations(before: cursor, token: makeToken()) else { return }
            remember(page.conversations)
            cursor = page.nextCursor
        } while cursor != nil
    }

    private func take(
        _ encoded: UnsafeRawBufferPointer, by offer: (inout StreamCursor, Int64) -> StreamCursor.Decision
    ) {
        guard let head = try? ChangeHead(encoded: encoded), let conversation = head.conversation else {
            owner?.broken("a change names no conversation and position")
            return
        }
        switch offer(&cursors[conversation, default: StreamCursor()], head.seq) {
        case .deliver: owner?.changed(head, encoded)
        case .hold: held[conversation, default: []].append(Array(encoded))
        case .repeated: owner?.broken("change \(head.seq) of \(conversation) came twice")
        case .gap(let after):
            owner?.broken("after change \(after) of \(conversation) came \(head.seq)")
            owner?.changed(head, encoded)
        }
    }

    private func renewToken() {
        let token = makeToken()
        send { frame in
            frame.beginObject()
            frame.append(key: "type", json: "auth")
            frame.append(key: "token", json: token)
            frame.endObject()
        }
    }

    /// Handles a restored database, where old positions mean nothing.
    private func reset(_ frame: ServerFrame) {
        if let conversation = frame.conversation {
            cursors[conversation] = StreamCursor()
        } else {
            cursors = cursors.mapValues { _ in StreamCursor() }
        }
        owner?.received(frame)
    }

    // MARK: Reload

    /// Pages through a gap that is too large for the socket. Meanwhile the socket continues after `lastSeq`.
    private func reload(_ frame: ServerFrame) {
        // The private stream. Nothing of it is kept here.
        if frame.conversation == nil, frame.lastSeq == nil { return }
        guard let conversation = frame.conversation, let lastSeq = frame.lastSeq else {
            owner?.broken("a reload names no conversation and position")
            return
        }
        cursors[conversation, default: StreamCursor()].beginReload()
        Reactor.spawn { [self] in await page(conversation, to: lastSeq) }
    }

    private func page(_ conversation: ConversationID, to lastSeq: Int64) async {
        do throws(APIError) {
            while !hasEnded, let seq = position(in: conversation), seq < lastSeq {
                let page = try await api.changes(of: conversation, after: seq, token: makeToken())
                for change in page.changes { change.withUnsafeBytes { take($0) { $0.offerPaged($1) } } }
                if !page.hasMore { break }
            }
        } catch {
            owner?.broken("the changes up to \(lastSeq) of \(conversation) cannot be read: \(error)")
        }
        release(conversation)
    }

    /// Releases held changes. The last page may have brought them too.
    private func release(_ conversation: ConversationID) {
        cursors[conversation]?.finishReload()
        for change in held.removeValue(forKey: conversation) ?? [] {
            change.withUnsafeBytes { bytes in
                guard let head = try? ChangeHead(encoded: bytes), head.seq > position(in: conversation) ?? 0 else {
                    return
                }
                take(bytes) { $0.offer($1) }
            }
        }
    }
}
