/// Why the server ends a session: the code of the `bye` frame, and as its number the close code that follows the frame
/// (RFC 6455, 7.4; those from 4000 on are the contract's).
public enum ByeCode: UInt16, CaseIterable, ContractName {
    /// The token is refused or has expired: get a new one.
    case unauthenticated = 4401
    /// More was waiting for the client than the server holds: come back with the cursors.
    case slowConsumer = 4429
    /// The server is being replaced: come back.
    case draining = 1001
    /// A frame that is not one of the contract.
    case protocolError = 1008
    /// The same device opened another session, or the user too many: stay away.
    case superseded = 4409
    /// The user's sessions said far more than they may: come back after `retryAfter`.
    case rateLimited = 4430
    /// No room for a large `hello`: come back after `retryAfter`.
    case overloaded = 4503

    public var closeCode: UInt16 { rawValue }

    public var name: StaticString {
        switch self {
        case .unauthenticated: "unauthenticated"
        case .slowConsumer: "slowConsumer"
        case .draining: "draining"
        case .protocolError: "protocolError"
        case .superseded: "superseded"
        case .rateLimited: "rateLimited"
        case .overloaded: "overloaded"
        }
    }
}
