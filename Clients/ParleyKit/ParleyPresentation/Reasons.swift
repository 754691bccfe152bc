import Models

extension ProblemDetails {
    /// Why something was refused, in words for the user: a part of a sentence, as in "Not sent: it is too long".
    public var reason: String {
        switch code {
        case .known(.tooLarge): "it is too long"
        case .known(.notReplyable): "the message it answers is gone"
        case .known(.notForwardable): "the message cannot be forwarded"
        case .known(.editWindowClosed): "the time for edits has passed"
        case .known(.forbidden): "you may not do that here"
        case .known(.notFound): "it is not there any more"
        case .known(.conflict): "it was changed or deleted meanwhile"
        case .known(.mediaNotReady): "a file of it is not ready"
        case .known(.suspended): "you may only read at present"
        case .known(.refusedByApplication): HarmlessText.line(detail, limit: 300)
        case .known(.invalid): "the server does not accept it"
        case .unknown("mediaRefused"): fileReason
        case .known, .unknown: HarmlessText.line(title, limit: 80)
        }
    }

    /// Why the server does not accept a file.
    private var fileReason: String {
        switch detail {
        case "unreadable": "the file cannot be read"
        case "tooSlow": "the file takes too long to look into"
        case "tooLarge": "the file is too large"
        case "tooMuch": "no more can be uploaded today"
        case "wrongType": "files of this kind are not accepted"
        case "infected": "the file is infected"
        default: "the server does not accept the file"
        }
    }
}
