import CJWT
import Models
import Testing

@testable import ServiceKit

@Suite struct TokenTests {
    private let secret = "0123456789abcdef0123456789abcdef"
    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private let valid = #"{"sub":"ann","exp":1800000060}"#

    private func verifier(_ policy: TokenVerifier.Policy = .init()) throws -> TokenVerifier {
        TokenVerifier(key: try TokenKey(secret: secret), policy: policy)
    }

    private func refusal(_ token: String, _ verifier: TokenVerifier) -> TokenError? {
        var verifier = verifier
        do throws(TokenError) {
            _ = try verifier.verify(token, at: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("a token made by the signer yields its identity")
    func roundTrip() throws {
        let identity = Identity(
            user: try #require(UserID("ann@example.org")), device: "phone", isAdministrator: true,
            expiresAt: Timestamp(milliseconds: 1_800_000_060_000))
        var verifier = try verifier(.init(issuer: "app", audience: "parley"))
        let token = TokenSigner(secret: secret).token(for: identity, issuer: "app", audience: "parley")
        #expect(try verifier.verify(token, at: now) == identity)
        #expect(try verifier.verify(token, at: now) == identity, "from the cache")
    }

    @Test(
        "claims that are missing, wrong, expired or not yet valid are refused",
        arguments: [
            (#"{"sub":"ann"}"#, .missingExpiry), (#"{"sub":"ann","exp":1800000000}"#, .expired),
            (#"{"sub":"ann","exp":1}"#, .expired), (#"{"sub":"ann","exp":"1800000060"}"#, .invalidClaim),
            (#"{"sub":"ann","exp":1e300}"#, .invalidClaim), (#"{"sub":"ann","exp":-1}"#, .expired),
            (#"{"sub":"ann","exp":1800000060,"nbf":1800000001}"#, .notYetValid),
            (#"{"exp":1800000060}"#, .invalidSubject), (#"{"sub":"","exp":1800000060}"#, .invalidSubject),
            (#"{"sub":"a b","exp":1800000060}"#, .invalidSubject), (#"{"sub":7,"exp":1800000060}"#, .invalidClaim),
            (#"{"sub":"ann","exp":1800000060,"adm":"true"}"#, .invalidClaim),
            (#"{"sub":"ann","exp":1800000060.5,"nbf":1799999999.5}"#, nil),
            (#"{"sub":"ann","exp":1800000060,"x":[{}]}"#, nil),
        ] as [(String, TokenError?)])
    func claims(claims: String, expected: TokenError?) throws {
        #expect(refusal(signedToken(claims, JWT_ALG_HS256, key: secret), try verifier()) == expected)
    }

    @Test("issuer and audience are checked if configured, the audience also in a list")
    func issuerAndAudience() throws {
        let claims = #"{"sub":"ann","exp":1800000060,"iss":"app","aud":["web","parley"]}"#
        let token = signedToken(claims, JWT_ALG_HS256, key: secret)
        #expect(refusal(token, try verifier()) == nil)
        #expect(refusal(token, try verifier(.init(issuer: "app", audience: "parley"))) == nil)
        #expect(refusal(token, try verifier(.init(issuer: "other"))) == .wrongIssuer)
        #expect(refusal(token, try verifier(.init(audience: "other"))) == .wrongAudience)
        #expect(
            refusal(signedToken(valid, JWT_ALG_HS256, key: secret), try verifier(.init(issuer: "app"))) == .wrongIssuer)
    }

    @Test("a token signed with another secret, with another algorithm or with none is refused")
    func forged() throws {
        let verifier = try verifier()
        #expect(
            refusal(signedToken(valid, JWT_ALG_HS256, key: "another secret of thirty-two bytes"), verifier)
                == .badSignature)
        #expect(refusal(signedToken(valid, JWT_ALG_HS512, key: secret), verifier) == .wrongAlgorithm)
        #expect(refusal(signedToken(valid, JWT_ALG_NONE, key: ""), verifier) != nil)
        let rsa = SigningKey.rsa2048
        #expect(refusal(signedToken(valid, JWT_ALG_RS256, key: rsa.privatePEM), verifier) == .badSignature)
    }

    @Test("no prefix, changed character or random text is accepted as a token", arguments: UInt64(0)..<20)
    func damaged(seed: UInt64) throws {
        let verifier = try verifier()
        let token = Array(signedToken(valid, JWT_ALG_HS256, key: secret).utf8)
        for length in 0..<token.count where length % 20 == Int(seed) {
            #expect(refusal(String(decoding: token[..<length], as: UTF8.self), verifier) != nil)
            var changed = token
            // Not the last character: two of its six bits are padding, which base64url lets vary (RFC 4648, 3.5).
            if length < token.count - 1 {
                changed[length] = changed[length] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            }
            if changed != token { #expect(refusal(String(decoding: changed, as: UTF8.self), verifier) != nil) }
        }
        for noise in ["", ".", "..", "...", "a.b.c", "\0", String(repeating: "a.", count: 3000), "é.é.é"] {
            #expect(refusal(noise, verifier) != nil)
        }
        #expect(refusal(String(decoding: token, as: UTF8.self) + "\0", verifier) == .malformed)
    }

    @Test("a token of a public key is verified by the algorithm of that key")
    func publicKeys() throws {
        let rsa = SigningKey.rsa2048
        let ec = SigningKey(.p256)
        let byRSA = TokenVerifier(key: try TokenKey(publicKeyPEM: rsa.publicPEM))
        let byEC = TokenVerifier(key: try TokenKey(publicKeyPEM: ec.publicPEM))
        #expect(refusal(signedToken(valid, JWT_ALG_RS256, key: rsa.privatePEM), byRSA) == nil)
        #expect(refusal(signedToken(valid, JWT_ALG_ES256, key: ec.privatePEM), byEC) == nil)
        #expect(refusal(signedToken(valid, JWT_ALG_RS512, key: rsa.privatePEM), byRSA) == .wrongAlgorithm)
        #expect(refusal(signedToken(valid, JWT_ALG_RS256, key: rsa.privatePEM), byEC) != nil)
        #expect(refusal(signedToken(valid, JWT_ALG_ES256, key: ec.privatePEM), byRSA) != nil)
        #expect(refusal(signedToken(valid, JWT_ALG_NONE, key: ""), byRSA) != nil)
    }

    @Test("a public key is not a shared secret: a token signed with its text is refused")
    func confusedAlgorithm() throws {
        for key in [SigningKey.rsa2048, SigningKey(.p256)] {
            let verifier = TokenVerifier(key: try TokenKey(publicKeyPEM: key.publicPEM))
            #expect(refusal(signedToken(valid, JWT_ALG_HS256, key: key.publicPEM), verifier) == .wrongAlgorithm)
        }
    }

    @Test("a weak or unsuitable key is refused at start")
    func keys() {
        #expect(throws: TokenKeyError.secretTooShort) { try TokenKey(secret: "short") }
        #expect(throws: TokenKeyError.notAPublicKey) { try TokenKey(publicKeyPEM: "-----BEGIN PUBLIC KEY-----\n") }
        #expect(throws: TokenKeyError.unsuitablePublicKey) { try TokenKey(publicKeyPEM: SigningKey(.p384).publicPEM) }
        #expect(throws: TokenKeyError.unsuitablePublicKey) {
            try TokenKey(publicKeyPEM: SigningKey(.rsa(bits: 1024)).publicPEM)
        }
    }

    @Test("a cached token is refused once it has expired")
    func cachedExpiry() throws {
        var verifier = try verifier()
        let token = signedToken(valid, JWT_ALG_HS256, key: secret)
        _ = try verifier.verify(token, at: now)
        #expect(throws: TokenError.expired) {
            try verifier.verify(token, at: Timestamp(milliseconds: 1_800_000_060_000))
        }
    }

    @Test("the cache stays within two generations and keeps tokens in use")
    func cacheBound() throws {
        var cache = TokenCache(capacity: 10)
        func bytes(_ number: Int) -> [UInt8] { Array("token-\(number)".utf8) }
        let identity = Identity(user: try #require(UserID("ann")), expiresAt: now)
        for number in 0..<100 {
            bytes(number).withUnsafeBytes { cache.insert(identity, for: $0) }
            #expect(bytes(0).withUnsafeBytes { cache.identity(for: $0) } == identity)
            #expect(cache.count <= 20)
        }
        #expect(bytes(1).withUnsafeBytes { cache.identity(for: $0) } == nil)
    }
}

@Suite struct TokenConfigurationTests {
    private let secret = "0123456789abcdef0123456789abcdef"

    @Test("exactly one key must be configured, and an invalid one is refused by its variable")
    func keys() throws {
        var environment = Environment(["PARLEY_JWT_SECRET": secret, "PARLEY_JWT_ISSUER": "app"])
        _ = try TokenVerifier(environment: &environment)
        for variables in [[:], ["PARLEY_JWT_SECRET": "short"]] as [[String: String]] {
            var environment = Environment(variables)
            let error = #expect(throws: ConfigurationError.self) { try TokenVerifier(environment: &environment) }
            #expect(error?.variable == "PARLEY_JWT_SECRET")
        }
        var missing = Environment(["PARLEY_JWT_PUBLIC_KEY_FILE": "/nowhere.pem"])
        let error = #expect(throws: ConfigurationError.self) { try TokenVerifier(environment: &missing) }
        #expect(error?.variable == "PARLEY_JWT_PUBLIC_KEY_FILE")
    }
}
