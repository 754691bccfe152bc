import Models

extension WriteKind {
    /// Why it was refused.
    func problem(_ code: Problem.Code) -> Problem {
        if let explanation = explanation(of: code) { return Problem(code, explanation) }
        return switch code {
        case .unauthenticated: .erasedUser
        case .notFound where message != nil: Problem(code, "there is no such message")
        case .notFound: .unknownConversation
        case .forbidden: .notAMember
        case .conflict:
            Problem(code, "a direct conversation cannot be changed, or \(WriteStatement.everyConflict)")
        default: Problem(code, "refused")
        }
    }
}

/// Explanations of several kinds.
extension WriteStatement {
    static let keyWasUsed = "the Idempotency-Key was used for another request"
    /// Why any write to a conversation may be in conflict.
    static let everyConflict = "the conversation is being imported, or \(keyWasUsed)"
    static let onlySender = "only its sender, as a member, may do this"
    static let onlyOwner = "only an owner may do this"
    static let onlyAdmin = "only an owner or an admin may do this"
    static let onlyWriter = "only a member who may write here may do this"
    static let messageIsClosed = "the message takes this no more, or \(everyConflict)"
}

extension Problem {
    static let refusedMember = Problem(.refusedByApplication, "the application does not allow this")
    static let undecidedMember = Problem(
        .unavailable, "the application does not answer at the moment: repeat the request as it is")
    static let tooManyPeople = Problem(
        .rateLimited,
        "a new account brings so many people into conversations within a day (`newAccount` of the limits), and no more")
    static let erasedUser = Problem(.unauthenticated, "the user was erased")
}
