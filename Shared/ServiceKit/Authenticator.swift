import Bytes
import Edge
import Models
import Reactor
import Wire

/// Determines the user that a request is made for: the subject of its token, or the user that an administrator names in
/// `X-Parley-User`.
@Reactor
public final class Authenticator {
    private var tokens: TokenVerifier
    private let erased: ErasedUsers
    private let revoked: RevokedTokens
    private var keyFile: TokenKeyFile?

    public init(_ tokens: TokenVerifier, _ erased: ErasedUsers, _ revoked: RevokedTokens) {
        self.tokens = tokens
        self.erased = erased
        self.revoked = revoked
    }

    /// Reloads the keys when their file changes, if they come from a file.
    public func watchKeys(_ log: Log) {
        guard let path = tokens.keyFile else { return }
        keyFile = TokenKeyFile(path, log: log) { [unowned self] in tokens.replaceKeys(by: $0) }
        keyFile?.watch()
    }

    /// The token last verified on a connection, kept there because a client sends the same token with every request.
    private final class VerifiedToken {
        let token: [UInt8]
        let identity: Identity

        init(_ token: UnsafeRawBufferPointer, _ identity: Identity) {
            self.token = Array(token)
            self.identity = identity
        }

        func matches(_ other: UnsafeRawBufferPointer) -> Bool { token.withUnsafeBytes { $0.isEqual(to: other) } }
    }

    public func user(of request: Request) throws(Problem) -> UserID {
        let identity = try identity(of: request)
        guard let name = request[.parleyUser] else { return identity.user }
        guard identity.isAdministrator else {
            throw Problem(.forbidden, "X-Parley-User: only an administrator's token may act for others")
        }
        guard let user = UserID(String(decoding: name, as: UTF8.self)) else {
            throw Problem(.invalid, "X-Parley-User: must be a user id")
        }
        guard !erased.contains(user) else { throw Problem(.forbidden, "X-Parley-User: the user was erased") }
        return user
    }

    /// The administrator that makes a request. Such a request is for no user.
    public func administrator(of request: Request) throws(Problem) -> UserID {
        let identity = try identity(of: request)
        guard identity.isAdministrator else {
            throw Problem(.forbidden, "Authorization: only an administrator's token may do this")
        }
        return identity.user
    }

    /// Whether the token is an administrator's, whomever the request is for.
    public func isAdministrator(_ request: Request) throws(Problem) -> Bool {
        try identity(of: request).isAdministrator
    }

    /// The token of a request whose body takes long, to be asked about again while it arrives.
    public func token(of request: Request) throws(Problem) -> Identity { try identity(of: request) }

    /// Whether a token that was valid once still is.
    public func isValid(_ token: Identity) -> Bool { TokenRefusal.of(token, tokens, erased, revoked) == nil }

    // MARK: What a user may

    /// Whether the request is a user's own whose account began no longer ago than that, as their token says.
    public func isNew(_ request: Request, within age: Duration, at now: Timestamp = .now) throws(Problem) -> Bool {
        let identity = try identity(of: request)
        guard !identity.isAdministrator, let since = identity.accountSince else { return false }
        return now.milliseconds - since.milliseconds < age.components.seconds * 1000
    }

    /// Whether nobody hears of what the user begins who makes the request.
    public func isUnheard(_ request: Request) throws(Problem) -> Bool {
        revoked.hasSuspensions ? revoked.isUnheard(try identity(of: request)) : false
    }

    // MARK: Suspensions

    /// Refuses the request of a suspended user.
    ///
    /// - Parameter isOpenToReaders: whether who may only read may make the request.
    public func refuseSuspended(_ request: Request, isOpenToReaders: Bool) throws(Problem) {
        // The usual case is that nobody is.
        guard revoked.hasSuspensions else { return }
        if let problem = suspension(of: try identity(of: request), isOpenToReaders: isOpenToReaders) { throw problem }
    }

    /// The same for a token whose request takes long; nil: it may go on.
    public func suspension(of token: Identity, isOpenToReaders: Bool) -> Problem? {
        guard let suspension = revoked.suspension(of: token), suspension.mode == .out || !isOpenToReaders else {
            return nil
        }
        return Problem(suspension)
    }

    // MARK: Details

    /// The challenge of a 401 response (RFC 6750, 3).
    public static func challenge(_ request: Request) -> ResponseHeader {
        token(of: request) == nil ? ResponseHeader("WWW-Authenticate", "Bearer") : tokenIsInvalid
    }

    public static let tokenIsInvalid = ResponseHeader("WWW-Authenticate", "Bearer error=\"invalid_token\"")

    private func identity(of request: Request) throws(Problem) -> Identity {
        let identity = try verifiedIdentity(of: request)
        if let refusal = TokenRefusal.of(identity, tokens, erased, revoked) {
            throw Problem(.unauthenticated, "Authorization: \(refusal.reason)")
        }
        return identity
    }

    private func verifiedIdentity(of request: Request) throws(Problem) -> Identity {
        guard let token = Self.token(of: request) else {
            throw Problem(.unauthenticated, "Authorization: must be Bearer followed by a token")
        }
        let now = Timestamp.now
        if let known = request.connection.userInfo as? VerifiedToken, known.matches(token),
            now < known.identity.expiresAt, tokens.hasKey(of: known.identity)
        {
            return known.identity
        }
        do throws(TokenError) {
            let identity = try tokens.verify(token, at: now)
            request.connection.userInfo = VerifiedToken(token, identity)
            return identity
        } catch {
            throw Problem(.unauthenticated, "Authorization: \(error.advice)")
        }
    }

    /// The token after `Bearer `, whose case does not matter (RFC 9110, 11.1).
    private static func token(of request: Request) -> UnsafeRawBufferPointer? {
        guard let value = request[.authorization], value.count > 7,
            value.part(0, 7).equalsIgnoringCase("bearer ")
        else { return nil }
        return value.part(7, value.count)
    }
}

extension TokenError {
    /// The reason as a client sees it. Only expiry and lifetime are disclosed; the issuer's log has the rest.
    fileprivate var advice: StaticString {
        switch self {
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        case .missingIssueTime, .livesTooLong: "the token's lifetime is longer than allowed, or unknown without iat"
        default: "the token is not valid"
        }
    }
}
