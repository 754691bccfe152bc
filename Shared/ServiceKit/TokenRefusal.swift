import Models
import Reactor

/// Why a verified token is not valid any more. An identity that is kept must be checked again before each use.
public enum TokenRefusal: Sendable {
    case userErased, revoked, keyGone, expired

    /// The reason for clients.
    public var reason: String {
        switch self {
        case .userErased: "the token's user was erased"
        case .revoked: "the token was revoked"
        case .keyGone: "the key of the token is no longer valid"
        case .expired: "the token has expired"
        }
    }

    /// The refusal of a token; nil while it is valid.
    @Reactor
    public static func of(
        _ identity: Identity, _ tokens: TokenVerifier, _ erased: ErasedUsers, _ revoked: RevokedTokens,
        at now: Timestamp = .now
    ) -> TokenRefusal? {
        if erased.contains(identity.user) { return .userErased }
        if revoked.contains(identity) { return .revoked }
        if !tokens.hasKey(of: identity) { return .keyGone }
        return tokens.isCurrent(identity.expiresAt, at: now) ? nil : .expired
    }
}
