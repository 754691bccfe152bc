import Models

/// Who sends a request, as a verified token says.
public struct Identity: Equatable, Sendable {
    public let user: UserID
    /// Claim `dev`: a second session of the same device supersedes the first.
    public let device: String?
    /// Claim `adm`: the application's own backend, which may act for any user.
    public let isAdministrator: Bool
    public let expiresAt: Timestamp

    public init(user: UserID, device: String? = nil, isAdministrator: Bool = false, expiresAt: Timestamp) {
        self.user = user
        self.device = device
        self.isAdministrator = isAdministrator
        self.expiresAt = expiresAt
    }
}

/// Why a token was refused: for logs and metrics. The client only learns that it is not authenticated.
public enum TokenError: Error, Equatable, Sendable {
    case malformed, wrongAlgorithm, unknownExtension, badSignature
    case missingExpiry, expired, notYetValid
    case invalidSubject, invalidClaim, wrongIssuer, wrongAudience
}
