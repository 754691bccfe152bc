import Models
import Reactor

/// Why a token that was verified is not good any more. Whoever keeps an identity for longer than it took to verify it looks
/// again before it is used.
public enum TokenRefusal: Sendable {
    case userErased, revoked, keyGone, expired

    /// For clients.
    public var reason: String {
        switch self {
        case .userErased: "the token's user was erased"
        case .revoked: "the token was revoked"
        case .keyGone: "the key of the token is no longer valid"
        case .expired: "the token has expired"
        }
    }

    /// Nil while the token is good.
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
