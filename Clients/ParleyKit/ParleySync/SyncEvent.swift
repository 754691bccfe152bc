import Models
import ParleyStorage

/// What happened, for `Synchronizer`.
package enum SyncEvent: Sendable {
    /// Be connected, at once: the application is in front, or the network is back.
    case start
    case stop
    case token(String)
    case tokenFailed
    /// There is a token, and it is another user's.
    case otherUser
    /// The WebSocket is open.
    case opened
    case frame(FrameFromServer)
    /// The WebSocket has ended, or could not be opened.
    case closed
    case response(Int, SyncResponse)
    /// The outbox has created a conversation, or accepted a request.
    case created(ConversationID)
    /// `wakeAt` has come.
    case time
    /// Somebody looks at a part of a conversation that is not in the copy.
    case look(ConversationID, HistoryPlace)
    case lookAtMembers(ConversationID)
    case lookAtRevisions(ConversationID, MessageID)
    /// Somebody looks at the requests, and the copy does not know whether these are all.
    case lookAtRequests
    /// Somebody looks at a request. No change tells what happens in it, so it is read again.
    case lookAgain(ConversationID)
    /// People are shown.
    case show([UserID])
    /// Bring the copy up to date once, without a WebSocket, such as when the application was woken in the background.
    case catchUp
    /// Ask for the server's digests of a conversation, to compare the copy with.
    case compare(ConversationID)
    /// These positions of the copy differ from the server's.
    case differs(ConversationID, ClosedRange<Int64>)
}

/// A call of the contract. All of them read, so each may be repeated.
package enum SyncCall: Hashable, Sendable {
    case conversations(before: String?)
    case conversation(ConversationID)
    case changes(ConversationID, after: Int64)
    case history(ConversationID, HistoryPlace)
    case members(ConversationID, after: UserID?)
    case revisions(ConversationID, MessageID)
    case settings
    case blocks
    case requests
    /// `versions`: those that the copy has. Whoever makes the call knows them.
    case profiles([UserID], versions: [Int64] = [])
    case sync(since: String?)
    case digest(ConversationID, after: Int64)

    /// The conversation that it is about.
    package var conversation: ConversationID? {
        switch self {
        case .conversation(let id), .changes(let id, _), .history(let id, _), .members(let id, _),
            .revisions(let id, _), .digest(let id, _):
            id
        case .conversations, .settings, .blocks, .requests, .profiles, .sync: nil
        }
    }
}

extension LocalStore {
    /// The call with what the copy has at the time when it is made.
    package func completed(_ call: SyncCall) -> SyncCall {
        guard case .profiles(let users, _) = call, let versions = try? profileVersions(of: users) else { return call }
        return .profiles(users, versions: versions)
    }
}

package enum SyncResponse: Sendable {
    case conversations(ConversationPage)
    case conversation(Conversation)
    case changes(ChangePage)
    case history(History)
    case members(MemberPage)
    case revisions(Revisions)
    case settings(Settings)
    case blocks(BlockList)
    case requests(MessageRequestList)
    case profiles(ProfileList)
    case sync(SyncPage)
    case digest(HistoryDigest)
    case failure(CallFailure)
}

/// Why there is no response to a call.
package enum CallFailure: Error, Hashable, Sendable {
    /// No response: the request may or may not have been carried out.
    case lost
    /// A response with a problem, or with something that cannot be understood.
    case refused(ProblemDetails, retryAfter: Duration?)

    /// Whether the same call may succeed later.
    package var isTemporary: Bool {
        guard case .refused(let problem, _) = self else { return true }
        return problem.status == 429 || problem.status == 408 || problem.status >= 500 || problem.excludes
    }

    package var isUnauthenticated: Bool {
        guard case .refused(let problem, _) = self else { return false }
        return problem.status == 401
    }

    package var retryAfter: Duration? {
        guard case .refused(_, let retryAfter) = self else { return nil }
        return retryAfter
    }
}

extension ProblemDetails {
    /// Whether the user is suspended from everything, until later. Who may still read is told at once what they may not do.
    package var excludes: Bool { code == .known(.suspended) && mode != .known(.readOnly) }
}

/// What to do about an event, in this order: first the writes, in one transaction, then the rest. If the writes fail,
/// nothing of the rest may happen, and synchronisation begins anew from what is stored.
package struct SyncStep: Sendable {
    package enum Connection: Sendable { case open, close }

    package enum TokenNeed: Sendable {
        /// The present one, if there is one.
        case any
        /// A fresh one: the present one was refused, or is about to expire.
        case fresh
    }

    package var writes: [SyncWrite] = []
    package var connection: Connection?
    package var frames: [FrameFromClient] = []
    package var requests: [(id: Int, call: SyncCall)] = []
    package var token: TokenNeed?
    package var notices: [SyncNotice] = []

    /// Whether a part of the copy is taken away. Then `OutboxSender.restart` is due: responses on their way may be of a
    /// history that is gone.
    package var discards: Bool {
        writes.contains { write in
            switch write {
            case .discardAll, .discard: true
            default: false
            }
        }
    }
}

/// What is not kept, for those who watch.
package enum SyncNotice: Sendable {
    case connection(ConnectionState)
    case typing(FrameFromServer.Typing)
    case presence(FrameFromServer.Presence)
    /// What `catchUp` asked for is done.
    case caughtUp
    /// To be compared with the copy.
    case digest(ConversationID, HistoryDigest)
}

/// Whether the server can be heard.
public enum ConnectionState: Hashable, Sendable {
    /// Not started.
    case off
    case connecting
    case online
    /// The connection was lost; another attempt follows by itself.
    case waiting
    /// An administrator has suspended the user; another attempt follows by itself then, and every hour, as it may be lifted.
    /// Nil: for ever. What is written meanwhile is kept.
    case suspended(until: Timestamp?)
    /// Another session of this device took over. `Parley.connect()` takes it back.
    case superseded
    /// The token is that of another user than the one whose copy this is. Nothing is asked or sent until `Parley.connect()`,
    /// which asks for another token.
    case otherUser
}
