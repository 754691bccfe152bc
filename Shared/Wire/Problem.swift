import Bytes

/// A refusal as clients see it: `application/problem+json` (RFC 9457) with a stable `code`.
///
/// The detail names the field at fault. It never contains SQL, a stack trace, a message text or another user's data.
public struct Problem: Error, Hashable, Sendable {
    public var code: Code
    public var detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The codes, with their numbers on the bus. Numbers are never reused.
    public enum Code: UInt8, CaseIterable, Sendable {
        case invalid = 1
        case unauthenticated = 2
        case forbidden = 3
        case notFound = 4
        case conflict = 5
        case notReplyable = 6
        case editWindowClosed = 7
        case tooLarge = 8
        case rateLimited = 9
        case overloaded = 10
        case unavailable = 11
        case skipped = 12

        public var name: StaticString {
            switch self {
            case .invalid: "invalid"
            case .unauthenticated: "unauthenticated"
            case .forbidden: "forbidden"
            case .notFound: "notFound"
            case .conflict: "conflict"
            case .notReplyable: "notReplyable"
            case .editWindowClosed: "editWindowClosed"
            case .tooLarge: "tooLarge"
            case .rateLimited: "rateLimited"
            case .overloaded: "overloaded"
            case .unavailable: "unavailable"
            case .skipped: "skipped"
            }
        }

        public var title: StaticString {
            switch self {
            case .invalid: "The request is malformed"
            case .unauthenticated: "The token is missing or not valid"
            case .forbidden: "Not permitted"
            case .notFound: "Not found"
            case .conflict: "In conflict with the stored state"
            case .notReplyable: "The parent cannot be replied to"
            case .editWindowClosed: "The time for edits has passed"
            case .tooLarge: "Larger than the limit"
            case .rateLimited: "Too many requests"
            case .overloaded: "Overloaded, try again later"
            case .unavailable: "Temporarily unavailable, try again later"
            case .skipped: "Skipped because an earlier item must be repeated"
            }
        }

        public var status: UInt16 {
            switch self {
            case .invalid: 400
            case .unauthenticated: 401
            case .forbidden, .editWindowClosed: 403
            case .notFound: 404
            case .conflict: 409
            case .tooLarge: 413
            case .notReplyable: 422
            case .rateLimited: 429
            case .overloaded, .unavailable, .skipped: 503
            }
        }
    }

    /// The value of `Retry-After` in seconds, for the statuses whose responses have it.
    public var retryAfter: Int? { code.status == 429 || code.status == 503 ? 1 : nil }
}

extension Problem: WireCodable {
    /// Layout: code 1 · detail (the rest, UTF-8).
    public init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        guard let code = Code(rawValue: number) else { throw .unknownValue(field: "problem code", UInt64(number)) }
        self.init(code, String(decoding: reader.readRest(), as: UTF8.self))
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(code.rawValue)
        buffer.append(utf8: detail)
    }
}
