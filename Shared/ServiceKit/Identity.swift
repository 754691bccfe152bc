import Models

/// Who sends a request, as a verified token says.
public struct Identity: Equatable, Sendable {
    public let user: UserID
    /// Claim `dev`: a second session of the same device supersedes the first.
    public let device: String?
    /// Claim `adm`: the application's own backend, which may act for any user.
    public let isAdministrator: Bool
    public let expiresAt: Timestamp
    /// Claim `iat`, which not every token has.
    public let issuedAt: Timestamp?
    /// Which of the keys that its verifier has had the token was verified with.
    let keyNumber: Int

    public init(
        user: UserID, device: String? = nil, isAdministrator: Bool = false, expiresAt: Timestamp,
        issuedAt: Timestamp? = nil, keyNumber: Int = 0
    ) {
        self.user = user
        self.device = device
        self.isAdministrator = isAdministrator
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.keyNumber = keyNumber
    }
}

/// Why a token was refused: for logs and metrics. The client only learns that it is not authenticated.
public enum TokenError: Error, Equatable, Sendable {
    case malformed, wrongAlgorithm, unknownExtension, badSignature, unknownKey
    case missingExpiry, expired, notYetValid, missingIssueTime, livesTooLong
    case invalidSubject, invalidClaim, wrongIssuer, wrongAudience
}
