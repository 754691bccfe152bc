import Models

/// A message or a person that the user reports. It is made once and given to `Talk.report` until the server has answered, so that
/// it is one report.
public struct NewReport: Hashable, Sendable {
    public let id: ReportID
    public let message: MessageID?
    public let user: UserID?
    public let reason: ReportReason
    public let text: String?

    /// - Parameter text: for those who run the service, up to 1,000 characters.
    public init(of message: MessageID, _ reason: ReportReason, text: String? = nil) {
        self.init(message, nil, reason, text)
    }

    public init(of user: UserID, _ reason: ReportReason, text: String? = nil) {
        self.init(nil, user, reason, text)
    }

    private init(_ message: MessageID?, _ user: UserID?, _ reason: ReportReason, _ text: String?) {
        var identifiers = NewIdentifiers()
        id = ReportID(identifiers.key())
        self.message = message
        self.user = user
        self.reason = reason
        self.text = text
    }
}
