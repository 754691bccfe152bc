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
        /// How long a token may be good for, from `iat` to `exp`; nil: as long as its issuer likes. With it a token must say
        /// when it was issued, and not be issued later than now, but for `clockDifference`.
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

    /// Tokens longer than this are refused unread; ours have 150 bytes, those with key ids and scopes some hundreds.
    public static let maximumLength = 4096

    /// How far ahead the clock of an issuer may be where the age of tokens matters.
    public static let clockDifference = Duration.seconds(60)

    /// The file of keys that this verifier was made from; nil: its key stays what it is.
    public let keyFile: String?
    private let policy: Policy
    private var keys: TokenKeySet
    /// The number of each of these keys. A key that comes later gets another one.
    private var keyNumbers: [Int]
    private var nextKeyNumber: Int
    private var verified: TokenCache
    private let cachedTokens: Int

    /// At most `cachedTokens` are remembered twice over: 10,000 tokens of 200 bytes are some 6 MB.
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

    /// The longest a token may be good for; nil: for ever.
    public var longestLifetime: Duration? { policy.longestLifetime }

    /// Verifies with these keys from now on. Identities of keys that stay are still good.
    ///
    /// - Returns: whether that changes anything.
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

    /// Whether the key that verified the token of this identity is still one of ours.
    public func hasKey(of identity: Identity) -> Bool { keyNumbers.contains(identity.keyNumber) }

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
            issuedAt: claims.issuedAt, keyNumber: keyNumber(of: entry))
    }

    /// From when it says it was issued. What is issued in time to come would live longer than it says.
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

    /// The key to verify a token with, as its header asks. What an unverified header asks for decides no more than that: the
    /// key has its algorithm.
    private func entry(for text: [UInt8]) throws(TokenError) -> TokenKeySet.Entry {
        if let only = keys.onlyUnnamed { return only }
        var decoded: OpaquePointer?
        // Without a key libjwt verifies nothing.
        guard text.withCharacters({ jwt_decode(&decoded, $0, nil, 0) }) == 0, let decoded else { throw .malformed }
        defer { jwt_free(decoded) }
        guard let algorithm = jwt_get_header(decoded, "alg").map({ String(cString: $0) }) else { throw .malformed }
        let name = jwt_get_header(decoded, "kid").map { String(cString: $0) }
        guard let entry = keys.entry(algorithm: algorithm, name: name) else { throw .unknownKey }
        return entry
    }

    /// The claims of a token whose header names the algorithm of the key and whose signature holds.
    private func claims(of text: [UInt8], _ key: TokenKey) throws(TokenError) -> TokenClaims {
        var decoded: OpaquePointer?
        let status = text.withCharacters { jwt_decode(&decoded, $0, key.bytes, CInt(key.bytes.count)) }
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

extension [UInt8] {
    fileprivate func withCharacters<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    }
}
