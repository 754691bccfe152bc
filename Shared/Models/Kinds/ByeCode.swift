/// The reason why the server ends a session: the code of the `bye` frame. Its number is the close code that follows the
/// frame (RFC 6455, 7.4; those from 4000 on are the contract's).
public enum ByeCode: UInt16, CaseIterable, ContractName {
    /// The token is refused or has expired. Get a new one.
    case unauthenticated = 4401
    /// The client fell behind by more than the server buffers. Reconnect with the cursors.
    case slowConsumer = 4429
    /// The server is being replaced. Reconnect.
    case draining = 1001
    /// The client sent a frame that is not in the contract.
    case protocolError = 1008
    /// The same device opened another session, or the user opened too many. Do not reconnect.
    case superseded = 4409
    /// The user's sessions sent far more than allowed. Reconnect after `retryAfter`.
    case rateLimited = 4430
    /// The server has no room for a large `hello`. Reconnect after `retryAfter`.
    case overloaded = 4503
    /// The user is suspended. Reconnect after `retryAfter`, not before.
    case suspended = 4403

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
        case .suspended: "suspended"
        }
    }
}
