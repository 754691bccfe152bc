import Models

/// Who sends a request, as a verified token says.
package struct Identity: Equatable, Sendable {
    package let user: UserID
    /// Claim `dev`: a second session of the same device supersedes the first.
    package let device: String?
    /// Claim `adm`: the application's own backend, which may act for any user.
    package let isAdministrator: Bool
    package let expiresAt: Timestamp

    package init(user: UserID, device: String? = nil, isAdministrator: Bool = false, expiresAt: Timestamp) {
        self.user = user
        self.device = device
        self.isAdministrator = isAdministrator
        self.expiresAt = expiresAt
    }
}

/// Why a token was refused: for logs and metrics. The client only learns that it is not authenticated.
package enum TokenError: Error, Equatable, Sendable {
    case malformed, wrongAlgorithm, unknownExtension, badSignature
    case missingExpiry, expired, notYetValid
    case invalidSubject, invalidClaim, wrongIssuer, wrongAudience
}
