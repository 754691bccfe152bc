import Models

extension ProblemDetails {
    /// Why something was refused, in words for the user: a part of a sentence, as in "Not sent: it is too long".
    public var reason: String {
        switch code {
        case .known(.tooLarge): "it is too long"
        case .known(.notReplyable): "the message it answers is gone"
        case .known(.editWindowClosed): "the time for edits has passed"
        case .known(.forbidden): "you may not do that here"
        case .known(.notFound): "it is not there any more"
        case .known(.conflict): "it was changed or deleted meanwhile"
        case .known(.invalid): "the server does not accept it"
        case .known, .unknown: HarmlessText.line(title, limit: 80)
        }
    }
}
