import CJWT
import Glibc
import Models
import Reactor
import TestSupport
import Testing

@testable import ServiceKit

/// Tests of key sets, and of the choice of a token's key.
@Suite struct TokenKeySetTests {
    init() { ReactorThread.start() }

    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let claims = #"{"sub":"ann","exp":1800000060}"#
    private static let one = "0123456789abcdef0123456789abcdef", other = "another secret of thirty-two byte"
    private static func oct(_ secret: String, _ more: String = "") -> String {
        #"{"kty":"oct","k":"\#(base64URL(Array(secret.utf8)))"\#(more)}"#
    }

    private func keys(_ keys: String...) throws(TokenKeyError) -> TokenKeySet { try Self.set(keys) }

    private static func set(_ keys: [String]) throws(TokenKeyError) -> TokenKeySet {
        let bytes = Array(#"{"keys":[\#(keys.joined(separator: ","))],"more":1}"#.utf8)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(TokenKeyError) in try TokenKeySet(jsonWebKeySet: bytes) }
        }
        return try result.get()
    }

    private func refusal(_ token: String, _ keys: TokenKeySet) -> TokenError? {
        var verifier = TokenVerifier(keys: keys)
        do throws(TokenError) {
            _ = try verifier.verify(token, at: now)
            return nil
        } catch {
            return error
        }
    }

    private func token(_ secret: String, kid: String? = nil) -> String {
        signedToken(Self.claims, JWT_ALG_HS256, key: secret, kid: kid)
    }

    @Test("a token that names one of several keys is verified with that key only")
    func named() throws {
        let both = try keys(Self.oct(Self.one, #","kid":"2025""#), Self.oct(Self.other, #","kid":"2026""#))
        #expect(refusal(token(Self.one, kid: "2025"), both) == nil)
        #expect(refusal(token(Self.other, kid: "2026"), both) == nil)
        #expect(refusal(token(Self.one, kid: "2026"), both) == .badSignature)
        #expect(refusal(token(Self.one, kid: "2027"), both) == .unknownKey)
        #expect(refusal(token(Self.one), both) == .unknownKey, "two could be meant")
    }

    @Test(
        "a token without a name uses the only key of its algorithm; one with an unknown name the only unnamed key")
    func unnamed() throws {
        let rsa = SigningKey.rsa2048, ec = SigningKey(.p256)
        let all = try keys(Self.oct(Self.one, #","kid":"a""#), rsa.json(#","kid":"b""#), ec.json())
        #expect(refusal(token(Self.one), all) == nil)
        #expect(refusal(signedToken(Self.claims, JWT_ALG_RS256, key: rsa.privatePEM), all) == nil)
        #expect(refusal(signedToken(Self.claims, JWT_ALG_ES256, key: ec.privatePEM), all) == nil)
        #expect(refusal(signedToken(Self.claims, JWT_ALG_ES256, key: ec.privatePEM, kid: "c"), all) == nil)
        #expect(refusal(signedToken(Self.claims, JWT_ALG_RS256, key: rsa.privatePEM, kid: "c"), all) == .unknownKey)
        #expect(refusal(token(Self.one, kid: "c"), all) == .unknownKey)
    }

    @Test("a key has one algorithm, whatever a token that names it claims")
    func confusedAlgorithm() throws {
        let rsa = SigningKey.rsa2048, ec = SigningKey(.p256)
        let all = try keys(Self.oct(Self.one, #","kid":"a""#), rsa.json(#","kid":"b""#), ec.json(#","kid":"c""#))
        for entry in all.entries.dropFirst() {
            let text = String(decoding: entry.key.bytes, as: UTF8.self)
            #expect(refusal(token(text, kid: entry.name), all) == .wrongAlgorithm)
            #expect(refusal(token(text), all) == .badSignature)
        }
        #expect(refusal(signedToken(Self.claims, JWT_ALG_RS256, key: rsa.privatePEM, kid: "a"), all) == .badSignature)
        #expect(refusal(signedToken(Self.claims, JWT_ALG_RS512, key: rsa.privatePEM, kid: "b"), all) == .wrongAlgorithm)
        #expect(refusal(signedToken(Self.claims, JWT_ALG_HS512, key: Self.one, kid: "a"), all) == .wrongAlgorithm)
        for name in [nil, "a", "b"] {
            #expect(refusal(signedToken(Self.claims, JWT_ALG_NONE, key: "", kid: name), all) != nil)
        }
    }

    @Test(
        "keys for other purposes or of other kinds are ignored",
        arguments: [
            #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#,
            #"{"kid":"x"}"#,
            #"{"kty":"RSA","alg":"RSA-OAEP","n":"AA","e":"AQAB"}"#, oct(one, #","use":"enc""#),
            oct(one, #","key_ops":["sign"]"#), oct(one, #","alg":"HS512""#),
        ])
    func passedOver(key: String) throws {
        #expect(try keys(key, Self.oct(Self.other)) == keys(Self.oct(Self.other)))
        #expect(throws: TokenKeyError.self) { try keys(key) }
    }

    @Test("the error of an invalid file gives the reason, and none of its content")
    func refused() {
        let rsa = SigningKey(.rsa(bits: 1024)), long = String(repeating: "A", count: 300 * 1024)
        for (file, reason) in [
            ("", "is no JSON Web Key Set"), ("{}", "it has no field keys"), (#"{"keys":7}"#, "expected an array"),
            (#"{"keys":[]}"#, "has no key that verifies"), (#"{"keys":[7]}"#, "expected an object"),
            (#"{"keys":[{"kty":"oct","k":"geheimge"}]}"#, "key 1: must be a secret of at least 32 bytes"),
            (#"{"keys":[{"kty":"oct"}]}"#, "key 1: k must be base64url"),
            (#"{"keys":[{"kty":"oct","k":"geheim!"}]}"#, "key 1: k must be base64url"),
            (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "key 1: must be an RSA key of at least 2048 bits"),
            (#"{"keys":[\#(rsa.json())]}"#, "key 1: must be an RSA key of at least 2048 bits"),
            (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","d":"geheim"}]}"#, "key 1: is a private key"),
            (#"{"keys":[{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}]}"#, "key 1: x and y must have 32 bytes"),
            (
                #"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(Self.base64URL(Array(repeating: 1, count: 32)))","y":"\#(Self.base64URL(Array(repeating: 2, count: 32)))"}]}"#,
                "key 1: must be a public key"
            ),
            (
                #"{"keys":[\#(Self.oct(Self.one)),\#(Self.oct(Self.one, #","kid":"x""#))]}"#,
                "has the same key twice: key 2"
            ),
            (
                #"{"keys":[\#(Self.oct(Self.one, #","kid":"x""#)),\#(Self.oct(Self.other, #","kid":"x""#))]}"#,
                "has two keys with the same kid: key 2"
            ),
            (#"{"keys":[{"kty":"\#(long)"}]}"#, "longer than 256 KiB"),
            (#"{"keys":[\#(Array(repeating: "{}", count: 65).joined(separator: ","))]}"#, "more than 64 keys"),
        ] {
            let error = Array(file.utf8).withUnsafeBytes { bytes in
                #expect(throws: TokenKeyError.self) { try TokenKeySet(jsonWebKeySet: bytes) }
            }
            let text = error?.description ?? ""
            #expect(text.contains(reason) && !text.contains("geheim"), "\(text)")
        }
    }

    @Test(
        "when keys are replaced, tokens of removed keys are refused, cached or not, and the others stay valid"
    )
    func replacement() throws {
        let old = Self.oct(Self.one, #","kid":"a""#), new = Self.oct(Self.other, #","kid":"b""#)
        var verifier = TokenVerifier(keys: try keys(old))
        let first = try verifier.verify(token(Self.one, kid: "a"), at: now)
        #expect(verifier.replaceKeys(by: try keys(new, old)))
        #expect(!verifier.replaceKeys(by: try keys(new, old)))
        #expect(verifier.hasKey(of: first))
        let second = try verifier.verify(token(Self.other, kid: "b"), at: now)
        #expect(try verifier.verify(token(Self.one, kid: "a"), at: now) == first)

        #expect(verifier.replaceKeys(by: try keys(new)))
        #expect(!verifier.hasKey(of: first) && verifier.hasKey(of: second))
        #expect(throws: TokenError.self) { try verifier.verify(token(Self.one, kid: "a"), at: now) }
        #expect(verifier.replaceKeys(by: try keys(old)))
        #expect(!verifier.hasKey(of: first) && !verifier.hasKey(of: second))
    }

    @Test("a key file is read again when it has changed, and an invalid one changes nothing")
    @Reactor func reloading() throws {
        let path = "/tmp/parley-keys-\(UInt64.random(in: 0 ... .max))"
        defer { unlink(path) }
        var used: [TokenKeySet] = []
        let logPath = path + "-log"
        let descriptor = open(logPath, O_CREAT | O_WRONLY, 0o600)
        defer {
            close(descriptor)
            unlink(logPath)
        }
        let file = TokenKeyFile(path, log: Log(service: "test", level: .error, descriptor: descriptor)) { keys in
            used.append(keys)
            return true
        }
        func write(_ text: String) throws {
            let temporary = path + "-new"
            let handle = try #require(fopen(temporary, "w"))
            fputs(text, handle)
            fclose(handle)
            try #require(rename(temporary, path) == 0)
        }
        file.look()
        #expect(used.isEmpty)
        for key in [Self.oct(Self.one), Self.oct(Self.other)] {
            try write(#"{"keys":[\#(key)]}"#)
            for _ in 0..<3 { file.look() }
            #expect(try used.last == keys(key))
        }
        try write(#"{"keys":[{"kty":"oct","k":"geheim"}"#)
        file.look()
        let logged = try #require(readTextFile(logPath))
        #expect(logged.contains("the previous keys stay") && !logged.contains("geheim"))
        unlink(path)
        file.look()
        #expect(used.count == 2)
        try write(#"{"keys":[\#(Self.oct(Self.one))]}"#)
        file.look()
        #expect(used.count == 3)
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }
        return String(
            stride(from: 0, to: bits.count, by: 6).map { start in
                alphabet[(0..<6).reduce(0) { $0 << 1 | (start + $1 < bits.count ? Int(bits[start + $1]) : 0) }]
            })
    }
}

@Suite struct TokenLifetimeTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private let secret = "0123456789abcdef0123456789abcdef"

    @Test(
        "with a maximum lifetime a token must have iat, not live longer, and not be issued in the future",
        arguments: [
            (#"{"sub":"ann","exp":1800000060}"#, .missingIssueTime),
            (#"{"sub":"ann","iat":1799999000,"exp":1800002600}"#, nil),
            (#"{"sub":"ann","iat":1799999000,"exp":1800002601}"#, .livesTooLong),
            (#"{"sub":"ann","iat":1800000060,"exp":1800003660}"#, nil),
            (#"{"sub":"ann","iat":1800000061,"exp":1800003660}"#, .notYetValid),
            (#"{"sub":"ann","iat":"1799999000","exp":1800002600}"#, .invalidClaim),
        ] as [(String, TokenError?)])
    func longest(claims: String, expected: TokenError?) throws {
        let key = try TokenKey(secret: secret)
        var verifier = TokenVerifier(key: key, policy: .init(longestLifetime: .seconds(3600)))
        let token = signedToken(claims, JWT_ALG_HS256, key: secret)
        do throws(TokenError) {
            _ = try verifier.verify(token, at: now)
            #expect(expected == nil)
        } catch {
            #expect(error == expected)
        }
        if expected != .invalidClaim {
            var lenient = TokenVerifier(key: key)
            _ = try lenient.verify(token, at: now)
        }
    }

    @Test("a key file and a maximum lifetime can be configured, and exactly one source of keys")
    func configuration() throws {
        let path = "/tmp/parley-keys-\(UInt64.random(in: 0 ... .max))"
        defer { unlink(path) }
        let handle = try #require(fopen(path, "w"))
        fputs(#"{"keys":[{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}"#, handle)
        fclose(handle)
        var environment = Environment(["PARLEY_JWT_KEYS_FILE": path, "PARLEY_JWT_LONGEST_LIFETIME": "24h"])
        let verifier = try TokenVerifier(environment: &environment)
        #expect(verifier.keyFile == path && verifier.longestLifetime == .seconds(86_400))
        for (variables, variable) in [
            (["PARLEY_JWT_KEYS_FILE": path, "PARLEY_JWT_SECRET": secret], "PARLEY_JWT_SECRET"),
            (["PARLEY_JWT_KEYS_FILE": "/nowhere"], "PARLEY_JWT_KEYS_FILE"),
            (["PARLEY_JWT_KEYS_FILE": "/dev/null"], "PARLEY_JWT_KEYS_FILE"),
            (["PARLEY_JWT_SECRET": secret, "PARLEY_JWT_LONGEST_LIFETIME": "1 day"], "PARLEY_JWT_LONGEST_LIFETIME"),
            (["PARLEY_JWT_SECRET": secret, "PARLEY_JWT_LONGEST_LIFETIME": "0s"], "PARLEY_JWT_LONGEST_LIFETIME"),
        ] {
            var environment = Environment(variables)
            let error = #expect(throws: ConfigurationError.self) { try TokenVerifier(environment: &environment) }
            #expect(error?.variable == variable)
        }
    }
}
