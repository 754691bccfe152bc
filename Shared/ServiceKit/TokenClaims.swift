import JSON
import Models

/// The claims of a token with a valid signature (RFC 7519, 4.1, and Parley's own `dev`, `adm` and `since`).
struct TokenClaims {
    private(set) var subject: String?
    private(set) var issuer: String?
    private(set) var audiences: [String] = []
    private(set) var expiresAt: Timestamp?
    private(set) var notBefore: Timestamp?
    private(set) var issuedAt: Timestamp?
    private(set) var device: String?
    private(set) var isAdministrator = false
    private(set) var accountSince: Timestamp?

    init(payload: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(payload)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "sub": subject = try reader.string()
            case "iss": issuer = try reader.string()
            case "aud": audiences = try Self.audiences(&reader)
            case "exp": expiresAt = try Self.numericDate(&reader)
            case "nbf": notBefore = try Self.numericDate(&reader)
            case "iat": issuedAt = try Self.numericDate(&reader)
            case "dev": device = try reader.string()
            case "adm": isAdministrator = try reader.bool()
            case "since": accountSince = try Self.numericDate(&reader)
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    /// One string, or an array of them (RFC 7519, 4.1.3).
    private static func audiences(_ reader: inout JSONReader) throws(JSONError) -> [String] {
        guard try reader.kind() == .array else { return [try reader.string()] }
        var audiences: [String] = []
        try reader.beginArray()
        while try reader.nextElement() { audiences.append(try reader.string()) }
        return audiences
    }

    /// Seconds since 1970, possibly with a fraction (RFC 7519, 2, NumericDate).
    private static func numericDate(_ reader: inout JSONReader) throws(JSONError) -> Timestamp {
        guard try reader.kind() == .number else { throw reader.failure(.expected("a number of seconds")) }
        let text = String(decoding: try reader.encodedValue(), as: UTF8.self)
        guard let seconds = Double(text), seconds.magnitude < 1e12 else { throw reader.failure(.numberOutOfRange) }
        return Timestamp(milliseconds: Int64(seconds * 1000))
    }
}
