import Models
import Postgres
import Wire

/// What became of a receipt of an import.
enum ReceiptVerdict: Int16, PostgresEnum {
    case stored = 0
    /// It was stored before, or another one covers it.
    case repeated = 1
    /// No import of the conversation was opened.
    case noImport = 2
    case hasEnded = 3
    /// There is no such message yet.
    case unknownMessage = 4
    /// Its time is before that of an earlier receipt of the user.
    case isBackwards = 5
    case isInFuture = 6
    case isBeforeMessage = 7
    case isNoMember = 8

    /// Nil: it is stored, now or before.
    var problem: Problem? {
        switch self {
        case .stored, .repeated: nil
        case .noImport: .noImport
        case .hasEnded: .importHasEnded
        case .unknownMessage: Problem(.notFound, "throughMessageId: no earlier record has this message")
        case .isBackwards: Problem(.conflict, "at: is before the time of an earlier receipt of the user")
        case .isInFuture: Problem(.invalid, "at: lies in the future")
        case .isBeforeMessage: Problem(.conflict, "at: is before the message")
        case .isNoMember: Problem(.conflict, "userId: the user is not in the conversation at this time")
        }
    }
}
