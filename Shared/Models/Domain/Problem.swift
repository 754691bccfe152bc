/// The reason why a request is refused. Clients get it as `ProblemDetails`.
///
/// The detail names the field at fault. It never holds SQL, a stack trace, a message text or another user's data.
public struct Problem: Error, Hashable, Sendable {
    public var code: Code
    public var detail: String
    /// Of `suspended`. It is known at the edges, so it does not travel on the bus.
    public var suspension: Suspended?

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// What a suspended user is told: no reason, and not who suspended them.
    public struct Suspended: Hashable, Sendable {
        public var mode: SuspensionMode
        public var until: Timestamp?
        /// The seconds after which to ask again, an hour at most: it may be lifted before it ends.
        public var retryAfter: Int

        /// An hour.
        private static let longestWait: Int64 = 3_600

        public init(_ mode: SuspensionMode, until: Timestamp?, at now: Timestamp) {
            self.mode = mode
            self.until = until
            let left = until.map { ($0.milliseconds - now.milliseconds + 999) / 1000 } ?? Self.longestWait
            retryAfter = Int(max(1, min(Self.longestWait, left)))
        }

        /// For developers.
        public var detail: String {
            mode == .out ? "an administrator has suspended you" : "an administrator lets you only read at present"
        }
    }

    public init(_ suspension: Suspended) {
        self.init(.suspended, suspension.detail)
        self.suspension = suspension
    }

    /// The numbers travel on the bus: add one, never reuse one.
    public enum Code: UInt8, CaseIterable, ContractName {
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
        case mediaNotReady = 13
        case suspended = 14
        case refusedByApplication = 15
        case pollClosed = 16
        case notForwardable = 17

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
            case .mediaNotReady: "mediaNotReady"
            case .suspended: "suspended"
            case .refusedByApplication: "refusedByApplication"
            case .pollClosed: "pollClosed"
            case .notForwardable: "notForwardable"
            }
        }

        public var title: StaticString {
            switch self {
            case .invalid: "The request is malformed"
            case .unauthenticated: "The token is missing or not valid"
            case .forbidden: "Not permitted"
            case .notFound: "Not found"
            case .conflict: "In conflict with what is stored"
            case .notReplyable: "The parent cannot be replied to"
            case .editWindowClosed: "The time for edits has passed"
            case .tooLarge: "Larger than the limit"
            case .rateLimited: "Too many requests"
            case .overloaded: "Overloaded, try again"
            case .unavailable: "Not available at the moment, try again"
            case .skipped: "Skipped because an earlier item has to be repeated"
            case .mediaNotReady: "A file that is not ready to be sent"
            case .suspended: "Suspended by an administrator"
            case .refusedByApplication: "Refused by the application"
            case .pollClosed: "The poll is closed"
            case .notForwardable: "The message cannot be forwarded"
            }
        }

        public var status: UInt16 {
            switch self {
            case .invalid: 400
            case .unauthenticated: 401
            case .forbidden, .editWindowClosed, .suspended, .refusedByApplication: 403
            case .notFound: 404
            case .conflict, .mediaNotReady, .pollClosed: 409
            case .tooLarge: 413
            case .notReplyable, .notForwardable: 422
            case .rateLimited: 429
            case .overloaded, .unavailable, .skipped: 503
            }
        }
    }

    /// The seconds after which to repeat the request, for the responses that carry `Retry-After`.
    public var retryAfter: Int? { suspension?.retryAfter ?? (code.status == 429 || code.status == 503 ? 1 : nil) }
}

/// A problem in a response, as `application/problem+json` (RFC 9457), and in the results of a batch.
public struct ProblemDetails: Error, Hashable, Sendable, Codable {
    /// The code in words.
    public var title: String
    /// The status of the response, from 400 to 599. Use it if the code is unknown.
    public var status: Int
    public var code: Open<Problem.Code>
    /// The error and its location, for developers. With the code `refusedByApplication`: what the application tells the user.
    public var detail: String
    /// With the code `suspended`: of what.
    public var mode: Open<SuspensionMode>?
    /// With the code `suspended`: when that ends by itself, if it does.
    public var until: Timestamp?

    public init(
        title: String, status: Int, code: Open<Problem.Code>, detail: String, mode: Open<SuspensionMode>? = nil,
        until: Timestamp? = nil
    ) {
        self.title = title
        self.status = status
        self.code = code
        self.detail = detail
        self.mode = mode
        self.until = until
    }

    public init(_ problem: Problem) {
        self.init(
            title: problem.code.title.description, status: Int(problem.code.status), code: .known(problem.code),
            detail: problem.detail, mode: problem.suspension.map { .known($0.mode) }, until: problem.suspension?.until)
    }
}
