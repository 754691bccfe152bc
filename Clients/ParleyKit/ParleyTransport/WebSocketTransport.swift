import Foundation

/// Opens WebSockets to the server, with the subprotocol `parley.v1`.
public protocol WebSocketTransport: Sendable {
    /// Returns when the WebSocket is open.
    func open() async throws -> any WebSocketChannel
}

/// An open WebSocket. A peer that vanished without a word must be noticed: the server pings every 25 s, so one that is
/// silent for 60 s is gone.
public protocol WebSocketChannel: Sendable {
    /// Returns the messages that have arrived since the last call, at least one, in order. Throws once the WebSocket has
    /// ended and all messages are taken.
    ///
    /// What is not taken is held back on the way, so that a fast server does not fill the memory of a slow client.
    func receive() async throws -> [Data]

    /// Sends a text message. It may be lost with the connection.
    func send(_ text: Data) async throws

    /// Ends the WebSocket. `receive` throws then.
    func close()
}

/// How a client reaches its server.
public struct Transport: Sendable {
    public var http: any HTTPTransport
    public var webSocket: any WebSocketTransport
    /// For files: connections of their own, so that messages do not wait behind them.
    public var media: any HTTPTransport

    /// - Parameter media: nil for where `http` goes.
    public init(
        http: any HTTPTransport, webSocket: any WebSocketTransport, media: (any HTTPTransport)? = nil
    ) {
        self.http = http
        self.media = media ?? http
        self.webSocket = webSocket
    }
}
