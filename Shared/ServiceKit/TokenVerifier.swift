import CJWT
import Glibc
import JSON
import Models

/// Tells who sends a request from its token, by libjwt: HS256, RS256 or ES256 as the key decides.
///
/// A token that was verified is remembered until it expires, because one client sends the same token with every request
/// and a signature costs 5 (HS256) to 100 µs (ES256).
public struct TokenVerifier: Sendable {
    public struct Policy: Sendable {
        /// Checked when configured, as `PARLEY_JWT_ISSUER` and `PARLEY_JWT_AUDIENCE`.
        public var issuer: String?
        public var audience: String?
        /// How far the clock of whoever signed the token may be from ours.
        public var leeway: Duration

        public init(issuer: String? = nil, audience: String? = nil, leeway: Duration = .zero) {
            self.issuer = issuer
            self.audience = audience
            self.leeway = leeway
        }
    }

    /// Tokens longer than this are refused unread; ours have 150 bytes, those with key ids and scopes some hundreds.
    public static let maximumLength = 4096

    private let key: TokenKey
    private let policy: Policy
    private var verified: TokenCache

    /// At most `cachedTokens` are remembered twice over: 10,000 tokens of 200 bytes are some 6 MB.
    public init(key: TokenKey, policy: Policy = Policy(), cachedTokens: Int = 10_000) {
        self.key = key
        self.policy = policy
        verified = TokenCache(capacity: cachedTokens)
    }

    /// The identity in a token that is valid at `now`.
    public mutating func verify(
        _ token: UnsafeRawBufferPointer, at now: Timestamp = .now
    ) throws(TokenError) -> Identity {
        if let identity = verified.identity(for: token) {
            guard isCurrent(identity.expiresAt, at: now) else { throw .expired }
            return identity
        }
        let identity = try check(token, at: now)
        verified.insert(identity, for: token)
        return identity
    }

    public mutating func verify(_ token: String, at now: Timestamp = .now) throws(TokenError) -> Identity {
        let bytes = Array(token.utf8)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(TokenError) in try verify(bytes, at: now) }
        }
        return try result.get()
    }

    private func check(_ token: UnsafeRawBufferPointer, at now: Timestamp) throws(TokenError) -> Identity {
        let claims = try claims(of: token)
        guard let expiresAt = claims.expiresAt else { throw .missingExpiry }
        guard isCurrent(expiresAt, at: now) else { throw .expired }
        if let notBefore = claims.notBefore, notBefore.milliseconds > now.milliseconds + leeway { throw .notYetValid }
        if let issuer = policy.issuer, claims.issuer != issuer { throw .wrongIssuer }
        if let audience = policy.audience, !claims.audiences.contains(audience) { throw .wrongAudience }
        guard let name = claims.subject, let user = UserID(name) else { throw .invalidSubject }
        return Identity(
            user: user, device: claims.device, isAdministrator: claims.isAdministrator, expiresAt: expiresAt)
    }

    private var leeway: Int64 { policy.leeway.components.seconds * 1000 }

    private func isCurrent(_ expiresAt: Timestamp, at now: Timestamp) -> Bool {
        now.milliseconds < expiresAt.milliseconds + leeway
    }

    /// The claims of a token whose header names our algorithm and whose signature holds.
    private func claims(of token: UnsafeRawBufferPointer) throws(TokenError) -> TokenClaims {
        guard token.count <= Self.maximumLength, token.allSatisfy(isTokenCharacter) else { throw .malformed }
        let text = token + [0]
        var decoded: OpaquePointer?
        let status = text.withUnsafeBytes { bytes in
            jwt_decode(
                &decoded, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), key.bytes, CInt(key.bytes.count))
        }
        guard status == 0, let decoded else { throw .badSignature }
        defer { jwt_free(decoded) }
        // libjwt verifies by the algorithm that the token names. With a public key it would take `HS256` and use the
        // key's text, which everybody knows, as the secret.
        guard jwt_get_alg(decoded) == key.algorithm else { throw .wrongAlgorithm }
        guard !hasCriticalExtension(decoded) else { throw .unknownExtension }
        guard let payload = jwt_get_grants_json(decoded, nil) else { throw .malformed }
        defer { free(payload) }
        do throws(JSONError) {
            return try TokenClaims(payload: UnsafeRawBufferPointer(start: payload, count: strlen(payload)))
        } catch {
            throw .invalidClaim
        }
    }

    /// Whether the header demands something of the verifier. We know no extension, so such a token must be refused
    /// (RFC 7515, 4.1.11); libjwt passes over the demand.
    private func hasCriticalExtension(_ decoded: OpaquePointer) -> Bool {
        guard let critical = jwt_get_headers_json(decoded, "crit") else { return false }
        free(critical)
        return true
    }

    /// Three parts in base64url. libjwt takes a C string, so a NUL must not pass.
    private func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
