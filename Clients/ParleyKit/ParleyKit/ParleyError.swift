import Models
import ParleyStorage

/// Why something did not happen that was asked of `Parley`.
public enum ParleyError: Error, Hashable, Sendable {
    /// `close` or `signOut` was called.
    case closed
    /// The copy on this device could not be read or written. Nothing was lost.
    case storage(StorageError)
    /// There is no response: the server cannot be reached, or there is no token.
    case unreachable
    /// The server refused it.
    case refused(ProblemDetails)
    /// A file cannot be sent.
    case file(FileProblem)
    /// What was loaded is not the file that the message carries.
    case damagedFile
}

/// Something that went wrong without a caller who could be told.
public enum ParleyProblem: Sendable {
    /// The copy could not be read or written. What was not stored is asked for again.
    case storage(StorageError)
    /// The database could not be read when it was opened. It is kept under another name, `salvaged` rows of what was not
    /// sent yet were taken over from it, and everything else is loaded from the server again.
    case setAside(file: String, salvaged: Int)
    /// The application gave no token. It is asked again, later and later.
    case noToken(any Error)
}

/// A write that the server refused and that was undone. Refused messages are not among them: they stay in their
/// conversation, as failed.
public struct RefusedWrite: Sendable {
    public enum Action: Hashable, Sendable {
        case edit, deleteForMe, deleteForEveryone, react, pinMessage, vote, closePoll, clearHistory, rename, addMember(
            UserID),
            changeRole(UserID)
        case removeMember(UserID), changePermissions, changeLifetime, liftBan(UserID), createGroup, removeFromList,
            settings
        /// To mute, pin, archive, or mark as unread.
        case mark
        case block(UserID), unblock(UserID)
        /// A request.
        case accept, decline
    }

    public var action: Action
    /// Nil for the user's own settings and blocks.
    public var conversation: ConversationID?
    public var message: MessageID?
    /// Why.
    public var problem: ProblemDetails
    /// When the user did it.
    public var at: Timestamp
}
