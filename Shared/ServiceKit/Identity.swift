import Models

/// The sender of a request, from a verified token.
public struct Identity: Equatable, Sendable {
    public let user: UserID
    /// Claim `dev`: a second session of the same device supersedes the first.
    public let device: String?
    /// Claim `adm`: the application's own backend, which may act for any user.
    public let isAdministrator: Bool
    public let expiresAt: Timestamp
    /// Claim `iat`, which not every token has.
    public let issuedAt: Timestamp?
    /// Claim `since`: when the user's account began, as far as the application says so.
    public let accountSince: Timestamp?
    /// The number of the key that verified the token, unique over all keys of its verifier.
    let keyNumber: Int

    public init(
        user: UserID, device: String? = nil, isAdministrator: Bool = false, expiresAt: Timestamp,
        issuedAt: Timestamp? = nil, accountSince: Timestamp? = nil, keyNumber: Int = 0
    ) {
        self.user = user
        self.device = device
        self.isAdministrator = isAdministrator
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.accountSince = accountSince
        self.keyNumber = keyNumber
    }
}

/// Why a token was refused. Clients learn only the reasons that `ingest` and `fanout` disclose.
public enum TokenError: Error, Equatable, Sendable {
    case malformed, wrongAlgorithm, unknownExtension, badSignature, unknownKey
    case missingExpiry, expired, notYetValid, missingIssueTime, livesTooLong
    case invalidSubject, invalidClaim, wrongIssuer, wrongAudience
}
