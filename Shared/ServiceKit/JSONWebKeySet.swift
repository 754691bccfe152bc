import Bytes
import JSON

// Keys as an identity provider publishes them (RFC 7517): `{"keys": [{"kty": "RSA", "kid": "…", "n": "…", "e": "…"}, …]}`.

extension TokenKeySet {
    /// The maximum size of a key file.
    static let maximumFileBytes = 256 * 1024

    /// Reads the keys of a set that verify tokens: `oct` (HS256), `RSA` (RS256), `EC` on P-256 (ES256). Keys of other
    /// kinds or for other purposes are ignored (RFC 7517, 5). An error names a key by its number, from 1, and never
    /// contains any of the set's content.
    public init(jsonWebKeySet bytes: UnsafeRawBufferPointer) throws(TokenKeyError) {
        guard bytes.count <= Self.maximumFileBytes else { throw .keySet("is longer than 256 KiB") }
        let written: [JSONWebKey]?
        do throws(JSONError) {
            written = try Self.read(bytes)
        } catch {
            // Without the name of the field, which may be secret content in the wrong place.
            throw .keySet("is no JSON Web Key Set: \(error.reason) at byte \(error.offset)")
        }
        guard let keys = written else { throw .keySet("is no JSON Web Key Set: it has no field keys") }
        guard keys.count <= Self.maximumCount else { throw .keySet("has more than \(Self.maximumCount) keys") }
        var entries: [Entry] = []
        for (index, key) in keys.enumerated() {
            guard let entry = try key.entry(number: index + 1) else { continue }
            if let name = entry.name, entries.contains(where: { $0.name == name }) {
                throw .keySet("has two keys with the same kid: key \(index + 1)")
            }
            if entries.contains(where: { $0.key == entry.key }) {
                throw .keySet("has the same key twice: key \(index + 1)")
            }
            entries.append(entry)
        }
        guard !entries.isEmpty else { throw .keySet("has no key that verifies tokens by HS256, RS256 or ES256") }
        self.init(entries)
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> [JSONWebKey]? {
        var reader = JSONReader(bytes)
        var keys: [JSONWebKey]?
        try reader.beginObject()
        while let field = try reader.nextKey() {
            guard field == "keys", keys == nil else {
                try reader.skip()
                continue
            }
            var found: [JSONWebKey] = []
            try reader.beginArray()
            while try reader.nextElement() { found.append(try JSONWebKey(&reader)) }
            keys = found
        }
        try reader.end()
        return keys
    }
}

/// One key of a set, as written in the file.
private struct JSONWebKey {
    private var kind = ""
    private var name: String?
    private var purpose: String?
    private var operations: [String]?
    private var algorithm: String?
    private var isPrivate = false
    private var curve: String?
    private var secret: String?
    private var modulus: String?
    private var exponent: String?
    private var x: String?
    private var y: String?

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let field = try reader.nextKey() {
            switch field {
            case "kty": kind = try reader.string()
            case "kid": name = try reader.string()
            case "use": purpose = try reader.string()
            case "key_ops": operations = try Self.strings(&reader)
            case "alg": algorithm = try reader.string()
            case "crv": curve = try reader.string()
            case "k": secret = try reader.string()
            case "n": modulus = try reader.string()
            case "e": exponent = try reader.string()
            case "x": x = try reader.string()
            case "y": y = try reader.string()
            case "d":
                isPrivate = true
                try reader.skip()
            default: try reader.skip()
            }
        }
    }

    private static func strings(_ reader: inout JSONReader) throws(JSONError) -> [String] {
        var strings: [String] = []
        try reader.beginArray()
        while try reader.nextElement() { strings.append(try reader.string()) }
        return strings
    }

    /// The entry of this key; nil when the key is not for verifying tokens, or of an unsupported kind.
    func entry(number: Int) throws(TokenKeyError) -> TokenKeySet.Entry? {
        guard purpose ?? "sig" == "sig", operations?.contains("verify") ?? true else { return nil }
        do throws(TokenKeyError) {
            return try key().map { TokenKeySet.Entry(name: name, key: $0) }
        } catch {
            throw .keySet("key \(number): \(error)")
        }
    }

    private func key() throws(TokenKeyError) -> TokenKey? {
        switch (kind, curve, algorithm) {
        case ("oct", _, nil), ("oct", _, "HS256"):
            return try TokenKey(secret: try Self.bytes(secret, "k"))
        case ("RSA", _, nil), ("RSA", _, "RS256"):
            try refusePrivate()
            return try TokenKey(
                publicKeyInfo: PublicKeyInfo.rsa(
                    modulus: try Self.bytes(modulus, "n"), exponent: try Self.bytes(exponent, "e")))
        case ("EC", "P-256", nil), ("EC", "P-256", "ES256"):
            try refusePrivate()
            let x = try Self.bytes(x, "x"), y = try Self.bytes(y, "y")
            guard x.count == 32, y.count == 32 else { throw .keySet("x and y must have 32 bytes") }
            return try TokenKey(publicKeyInfo: PublicKeyInfo.p256(x: x, y: y))
        default: return nil
        }
    }

    /// Verifying needs no private key, and a file that every verifier reads must not contain one.
    private func refusePrivate() throws(TokenKeyError) {
        if isPrivate { throw .keySet("is a private key, but only its public part belongs here") }
    }

    private static func bytes(_ text: String?, _ field: String) throws(TokenKeyError) -> [UInt8] {
        guard let text, let bytes = Base64URL.decoded(text), !bytes.isEmpty else {
            throw .keySet("\(field) must be base64url")
        }
        return bytes
    }
}

/// Encodes a SubjectPublicKeyInfo (RFC 5280, 4.1) in DER: the form of a public key that OpenSSL reads.
private enum PublicKeyInfo {
    /// Algorithm rsaEncryption (RFC 3279, 2.3.1).
    static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let key = element(0x30, integer(modulus) + integer(exponent))
        return element(0x30, algorithm + element(0x03, [0] + key))
    }

    /// Algorithm ecPublicKey with the curve prime256v1 (RFC 5480, 2), with an uncompressed point.
    static func p256(x: [UInt8], y: [UInt8]) -> [UInt8] {
        let algorithm: [UInt8] = [
            0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D,
            0x03,
            0x01, 0x07,
        ]
        return element(0x30, algorithm + element(0x03, [0, 4] + x + y))
    }

    /// A non-negative INTEGER: a zero byte precedes a first bit that is set.
    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        return element(0x02, (digits.first ?? 0x80) & 0x80 == 0 ? Array(digits) : [0] + digits)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        switch content.count {
        case 0..<0x80: [tag, UInt8(content.count)] + content
        case 0x80..<0x100: [tag, 0x81, UInt8(content.count)] + content
        case 0x100..<0x10000: [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        default: [tag, 0x83] + [16, 8, 0].map { UInt8(content.count >> $0 & 0xFF) } + content
        }
    }
}
