import CJWT
import Glibc
import JSON
import Models

/// Verifies tokens by libjwt: HS256, RS256 or ES256, as the key determines.
///
/// Verified tokens are cached, because a client sends the same token with every request and verifying a signature takes
/// 5 µs (HS256) to 100 µs (ES256).
public struct TokenVerifier: Sendable {
    public struct Policy: Sendable {
        /// The required issuer; nil: any. Configured as `PARLEY_JWT_ISSUER`; the audience as `PARLEY_JWT_AUDIENCE`.
        public var issuer: String?
        public var audience: String?
        /// The accepted difference between the issuer's clock and ours.
        public var leeway: Duration
        /// The maximum lifetime of a token, from `iat` to `exp`; nil: unlimited. If set, a token must have `iat`, which
        /// may be at most `clockDifference` in the future.
        public var longestLifetime: Duration?

        public init(
            issuer: String? = nil, audience: String? = nil, leeway: Duration = .zero, longestLifetime: Duration? = nil
        ) {
            self.issuer = issuer
            self.audience = audience
            self.leeway = leeway
            self.longestLifetime = longestLifetime
        }
    }

    /// The maximum length of a token in bytes. Ours have 150, those with key ids and scopes some hundreds.
    public static let maximumLength = 4096

    /// How far an issuer's clock may be ahead where the age of tokens matters.
    public static let clockDifference = Duration.seconds(60)

    /// The key file that this verifier was made from; nil if its keys do not change.
    public let keyFile: String?
    private let policy: Policy
    private var keys: TokenKeySet
    /// The numbers of the keys. A new key gets a new number.
    private var keyNumbers: [Int]
    private var nextKeyNumber: Int
    private var verified: TokenCache
    private let cachedTokens: Int

    /// Caches up to twice `cachedTokens`: for 10,000 tokens of 200 bytes about 6 MB.
    public init(keys: TokenKeySet, keyFile: String? = nil, policy: Policy = Policy(), cachedTokens: Int = 10_000) {
        self.keys = keys
        self.keyFile = keyFile
        self.policy = policy
        self.cachedTokens = cachedTokens
        keyNumbers = Array(keys.entries.indices)
        nextKeyNumber = keys.entries.count
        verified = TokenCache(capacity: cachedTokens)
    }

    public init(key: TokenKey, policy: Policy = Policy(), cachedTokens: Int = 10_000) {
        self.init(keys: TokenKeySet(key), policy: policy, cachedTokens: cachedTokens)
    }

    /// The maximum lifetime of a token; nil: unlimited.
    public var longestLifetime: Duration? { policy.longestLifetime }

    /// Replaces the keys. Identities verified by a key that stays remain valid.
    ///
    /// - Returns: whether the keys changed.
    public mutating func replaceKeys(by new: TokenKeySet) -> Bool {
        guard new != keys else { return false }
        keyNumbers = new.entries.map { entry in
            if let index = keys.entries.firstIndex(where: { $0.key == entry.key }) { return keyNumbers[index] }
            defer { nextKeyNumber += 1 }
            return nextKeyNumber
        }
        keys = new
        verified = TokenCache(capacity: cachedTokens)
        return true
    }

    /// Whether the key that verified the identity's token is still in the set.
    public func hasKey(of identity: Identity) -> Bool { keyNumbers.contains(identity.keyNumber) }

    /// Verifies a token and returns its identity.
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
        guard token.count <= Self.maximumLength, token.allSatisfy(isTokenCharacter) else { throw .malformed }
        let text = token + [0]
        let entry = try entry(for: text)
        let claims = try claims(of: text, entry.key)
        guard let expiresAt = claims.expiresAt else { throw .missingExpiry }
        guard isCurrent(expiresAt, at: now) else { throw .expired }
        if let longest = policy.longestLifetime { try checkLifetime(claims, expiresAt, longest, at: now) }
        if let notBefore = claims.notBefore, notBefore.milliseconds > now.milliseconds + leeway { throw .notYetValid }
        if let issuer = policy.issuer, claims.issuer != issuer { throw .wrongIssuer }
        if let audience = policy.audience, !claims.audiences.contains(audience) { throw .wrongAudience }
        guard let name = claims.subject, let user = UserID(name) else { throw .invalidSubject }
        return Identity(
            user: user, device: claims.device, isAdministrator: claims.isAdministrator, expiresAt: expiresAt,
            issuedAt: claims.issuedAt, accountSince: claims.accountSince, keyNumber: keyNumber(of: entry))
    }

    /// Checks the lifetime from `iat` on. A token issued in the future would live longer than it claims.
    private func checkLifetime(
        _ claims: TokenClaims, _ expiresAt: Timestamp, _ longest: Duration, at now: Timestamp
    ) throws(TokenError) {
        guard let issuedAt = claims.issuedAt else { throw .missingIssueTime }
        let latest = now.milliseconds + Self.clockDifference.components.seconds * 1000
        guard issuedAt.milliseconds <= latest else { throw .notYetValid }
        guard expiresAt.milliseconds - issuedAt.milliseconds <= longest.components.seconds * 1000 else {
            throw .livesTooLong
        }
    }

    private func keyNumber(of entry: TokenKeySet.Entry) -> Int {
        keys.entries.firstIndex(of: entry).map { keyNumbers[$0] } ?? 0
    }

    private var leeway: Int64 { policy.leeway.components.seconds * 1000 }

    func isCurrent(_ expiresAt: Timestamp, at now: Timestamp) -> Bool {
        now.milliseconds < expiresAt.milliseconds + leeway
    }

    /// The key that the token's header asks for. The unverified header only selects the key; the key determines the
    /// algorithm.
    private func entry(for text: [UInt8]) throws(TokenError) -> TokenKeySet.Entry {
        if let only = keys.onlyUnnamed { return only }
        var decoded: OpaquePointer?
        // Without a key libjwt decodes without verifying.
        guard text.withCharacters({ jwt_decode(&decoded, $0, nil, 0) }) == 0, let decoded else { throw .malformed }
        defer { jwt_free(decoded) }
        guard let algorithm = jwt_get_header(decoded, "alg").map({ String(cString: $0) }) else { throw .malformed }
        let name = jwt_get_header(decoded, "kid").map { String(cString: $0) }
        guard let entry = keys.entry(algorithm: algorithm, name: name) else { throw .unknownKey }
        return entry
    }

    /// Verifies that the token has the key's algorithm and a valid signature, and returns its claims.
    private func claims(of text: [UInt8], _ key: TokenKey) throws(TokenError) -> TokenClaims {
        var decoded: OpaquePointer?
        let status = text.withCharacters { jwt_decode(&decoded, $0, key.bytes, CInt(key.bytes.count)) }
        guard status == 0, let decoded else { throw .badSignature }
        defer { jwt_free(decoded) }
        // libjwt verifies by the algorithm in the token's header. With `HS256` it would use the text of a public key,
        // which is not secret, as the secret.
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

    /// Whether the header has critical extensions. None is supported, so such a token must be refused (RFC 7515,
    /// 4.1.11); libjwt ignores them.
    private func hasCriticalExtension(_ decoded: OpaquePointer) -> Bool {
        guard let critical = jwt_get_headers_json(decoded, "crit") else { return false }
        free(critical)
        return true
    }

    /// Whether the byte may occur in a token: base64url and dots. A NUL would end the C string that libjwt reads.
    private func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension [UInt8] {
    fileprivate func withCharacters<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    }
}
