import Models
import Postgres
import Wire

/// What became of a record of an import.
enum ImportVerdict: Int16, PostgresEnum {
    case stored = 0
    /// It was stored before.
    case repeated = 1
    /// No import of the conversation was opened.
    case noImport = 2
    case hasEnded = 3
    /// The id belongs to something else.
    case idIsTaken = 4
    /// Its time is before that of what was imported before it.
    case isBackwards = 5
    case isInFuture = 6
    case isNoMember = 7
    /// There is no such message, or the user was not in the conversation when it came.
    case unknownMessage = 8
    case notReplyable = 9
    case isDeleted = 10
    case isMember = 11
    case isDirect = 12
    case isErased = 13
    case hasTooMany = 14
    case tooManyMembers = 15
    case tooManyStays = 16
    case isNoPoll = 17
    case pollIsClosed = 18
    case noSuchOptions = 19

    /// Nil: it is stored, now or before.
    var problem: Problem? {
        switch self {
        case .stored, .repeated: nil
        case .noImport: .noImport
        case .hasEnded: .importHasEnded
        case .idIsTaken: Problem(.conflict, "id: something else has this id")
        case .isBackwards: Problem(.conflict, "the time is before that of an earlier record of the conversation")
        case .isInFuture: Problem(.invalid, "a time lies in the future")
        case .isNoMember: Problem(.conflict, "a user is not in the conversation at this time")
        case .unknownMessage: Problem(.notFound, "messageId: there is no such message for this user")
        case .notReplyable: Problem(.notReplyable, "replyTo: this message cannot be replied to")
        case .isDeleted: Problem(.conflict, "messageId: the message is deleted at this time")
        case .isMember: Problem(.conflict, "userId: the user is in the conversation already")
        case .isDirect: Problem(.conflict, "a direct conversation has no title, and its members do not change")
        case .isErased: Problem(.conflict, "a user was erased")
        case .hasTooMany: Problem(.conflict, "a user is in as many conversations as others may add to")
        case .tooManyMembers: .fullConversation
        case .tooManyStays:
            Problem(.conflict, "userId: the user was in this conversation \(PutMember.staysLimit) times")
        case .isNoPoll: Problem(.conflict, "messageId: the message is no poll")
        case .pollIsClosed: Problem(.pollClosed, "messageId: nobody votes in it any more at this time")
        case .noSuchOptions: Problem(.invalid, Vote.invalidOptions)
        }
    }
}
