/// The frames that the server sends on the WebSocket, by their `type`.
public enum ServerFrameType: CaseIterable, ContractName {
    case welcome, change, `private`, status, typing, presence, profile, reload, reset, tokenExpiring, bye, pong

    public var name: StaticString {
        switch self {
        case .welcome: "welcome"
        case .change: "change"
        case .private: "private"
        case .status: "status"
        case .typing: "typing"
        case .presence: "presence"
        case .profile: "profile"
        case .reload: "reload"
        case .reset: "reset"
        case .tokenExpiring: "tokenExpiring"
        case .bye: "bye"
        case .pong: "pong"
        }
    }
}

/// The frames that a client sends on the WebSocket, by their `type`.
public enum ClientFrameType: CaseIterable, ContractName {
    case hello, delivered, read, typing, auth, ping

    public var name: StaticString {
        switch self {
        case .hello: "hello"
        case .delivered: "delivered"
        case .read: "read"
        case .typing: "typing"
        case .auth: "auth"
        case .ping: "ping"
        }
    }
}
