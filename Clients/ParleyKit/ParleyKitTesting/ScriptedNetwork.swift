import Foundation
import Models
import ParleyKit
import ParleyStorage
import ParleySync
import Synchronization

/// A `ScriptedServer` that clients of `ParleyKit` can be connected to, in one process and without a network, and what
/// goes wrong between them.
package final class ScriptedNetwork: Sendable {
    private struct State {
        var server: ScriptedServer
        var sessions: [Int: (user: UserID, session: ScriptedSession)] = [:]
        var lastSession = 0
        var isReachable = true
        var responsesToLose = 0
        var validTokens: Set<String>?
        var calls: [String] = []
    }

    private let state: Mutex<State>

    package init(_ server: ScriptedServer = ScriptedServer(logId: UUIDBytes(high: 1, low: 1))) {
        state = Mutex(State(server: server))
    }

    /// The server as a client of this user sees it.
    package func server(for user: UserID) -> any Server { ScriptedConnection(user: user, network: self) }

    /// Reads or changes the server, and tells every session what there is to tell.
    @discardableResult
    package func withServer<Value: Sendable>(_ body: (inout ScriptedServer) -> Value) -> Value {
        state.withLock { state in
            let value = body(&state.server)
            for announcement in state.server.announcements {
                for (user, session) in state.sessions.values where user == announcement.user {
                    session.push(announcement.frame)
                }
            }
            state.server.announcements = []
            return value
        }
    }

    // MARK: What goes wrong

    /// While false, sessions end and requests get no response.
    package var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set {
            let ended = state.withLock { state in
                state.isReachable = newValue
                defer { if !newValue { state.sessions = [:] } }
                return newValue ? [] : state.sessions.values.map(\.session)
            }
            for session in ended { session.close() }
        }
    }

    /// Loses the responses to the next requests after they were carried out.
    package func loseResponses(_ count: Int) { state.withLock { $0.responsesToLose = count } }

    /// Refuses other tokens than these; nil: takes any.
    package func accept(_ tokens: Set<String>?) { state.withLock { $0.validTokens = tokens } }

    /// Sends a frame to all sessions of a user.
    package func push(_ frame: FrameFromServer, to user: UserID) {
        state.withLock { state in
            for (other, session) in state.sessions.values where other == user { session.push(frame) }
        }
    }

    /// What clients have asked for since the last time, such as "ask /v1/blocks" or "send".
    package func takeCalls() -> [String] {
        state.withLock { state in
            defer { state.calls = [] }
            return state.calls
        }
    }

    // MARK: What clients do

    fileprivate func response<Value: Sendable>(
        _ name: String, _ token: String, _ body: (inout ScriptedServer) -> Result<Value, CallFailure>
    ) -> Result<Value, CallFailure> {
        let isPossible = state.withLock { state in
            state.calls.append(name)
            return state.isReachable
        }
        guard isPossible else { return .failure(.lost) }
        guard state.withLock({ $0.validTokens?.contains(token) ?? true }) else {
            return .failure(.refused(ProblemDetails(Problem(.unauthenticated, "token")), retryAfter: nil))
        }
        let response = withServer(body)
        let isLost = state.withLock { state in
            guard state.responsesToLose > 0 else { return false }
            state.responsesToLose -= 1
            return true
        }
        return isLost ? .failure(.lost) : response
    }

    fileprivate func open(_ session: ScriptedSession, of user: UserID) -> Bool {
        state.withLock { state in
            guard state.isReachable else { return false }
            state.lastSession += 1
            state.sessions[state.lastSession] = (user, session)
            return true
        }
    }

    fileprivate func take(_ frame: FrameFromClient, from session: ScriptedSession, of user: UserID) {
        switch frame {
        case .hello(let hello): greet(hello, session, user)
        case .delivered(let positions):
            withServer { server in
                for position in positions { server.delivered(position.seq, in: position.conversationId, by: user) }
            }
        case .ping(let id): session.push(.pong(id: id))
        case .typing(let id, let isActive):
            for member in withServer({ $0.memberIds(of: id) }) where member != user {
                push(.typing(.init(conversationId: id, userId: user, active: isActive)), to: member)
            }
        case .read, .auth: break
        }
    }

    private func greet(_ hello: FrameFromClient.Hello, _ session: ScriptedSession, _ user: UserID) {
        state.withLock { state in
            guard state.validTokens?.contains(hello.token) ?? true else {
                session.push(.bye(.init(code: .unauthenticated, reason: "token")))
                return session.close()
            }
            for frame in state.server.begin(hello, for: user) { session.push(frame) }
        }
    }
}

private struct ScriptedConnection: Server {
    let user: UserID
    let network: ScriptedNetwork

    func ask(_ call: SyncCall, token: String) async -> SyncResponse {
        let response = network.response("ask \(call.form.path)", token) { server -> Result<SyncResponse, CallFailure> in
            switch server.response(to: call, for: user) {
            case .failure(let failure): .failure(failure)
            case let response: .success(response)
            }
        }
        switch response {
        case .success(let response): return response
        case .failure(let failure): return .failure(failure)
        }
    }

    func carryOut(_ call: OutboxCall, token: String) async -> OutboxResponse {
        let response = network.response(call.rows[0].write.kind, token) {
            server -> Result<OutboxResponse, CallFailure> in
            switch server.carryOut(call, by: user) {
            case .failure(let failure): .failure(failure)
            case let response: .success(response)
            }
        }
        switch response {
        case .success(let response): return response
        case .failure(let failure): return .failure(failure)
        }
    }

    func ask<Response>(_ inquiry: Inquiry<Response>, token: String) async -> Result<Response, CallFailure> {
        network.response("inquire", token) { server in
            switch server.response(to: inquiry.subject, for: user) {
            case .success(let response): .success(response as! Response)
            case .failure(let problem): .failure(.refused(ProblemDetails(problem), retryAfter: nil))
            }
        }
    }

    func carryOut(
        _ call: MediaCall, body: Data?, sha256: [UInt8], token: String
    ) async -> Result<MediaResponse, CallFailure> {
        network.response(call.name, token) { server in
            server.media.carryOut(call, body: body).mapError { .refused(ProblemDetails($0), retryAfter: nil) }
        }
    }

    func openSession() async throws -> any ServerSession {
        let session = ScriptedSession(user: user, network: network)
        guard network.open(session, of: user) else { throw ScriptedSession.Ended() }
        return session
    }
}

/// A session in memory.
private final class ScriptedSession: ServerSession {
    struct Ended: Error {}

    private struct State {
        var frames: [FrameFromServer] = []
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let user: UserID
    private let network: ScriptedNetwork

    init(user: UserID, network: ScriptedNetwork) {
        self.user = user
        self.network = network
    }

    func push(_ frame: FrameFromServer) { change { if !$0.isClosed { $0.frames.append(frame) } } }

    func close() { change { $0.isClosed = true } }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state in
            body(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func receive() async throws -> [FrameFromServer] {
        while true {
            let (frames, isClosed) = state.withLock { state in
                defer { state.frames = [] }
                return (state.frames, state.isClosed)
            }
            if !frames.isEmpty { return frames }
            if isClosed { throw Ended() }
            await withCheckedContinuation { waiter in
                let mustWait = state.withLock { state in
                    guard state.frames.isEmpty, !state.isClosed else { return false }
                    state.waiter = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        }
    }

    func send(_ frame: FrameFromClient) async throws {
        guard !state.withLock({ $0.isClosed }) else { throw Ended() }
        network.take(frame, from: self, of: user)
    }
}
