/// What clamd says of a file that was sent to it (clamd(8), INSTREAM).
enum ScanVerdict: Equatable, Sendable {
    case clean
    case infected
    /// Beyond its limits, so that nobody knows.
    case tooLarge
    /// It could not say.
    case failed

    /// - Parameter reply: without what ends it. Anything that is not known counts as a failure.
    init(reply: String) {
        switch reply {
        case "stream: OK": self = .clean
        // What it says of a file beyond its other limits with `AlertExceedsMax`; without, it calls it clean.
        case let text where text.hasPrefix("stream: Heuristics.Limits.Exceeded"): self = .tooLarge
        case let text where text.hasPrefix("stream: ") && text.hasSuffix(" FOUND"): self = .infected
        case "INSTREAM size limit exceeded. ERROR": self = .tooLarge
        default: self = .failed
        }
    }
}
