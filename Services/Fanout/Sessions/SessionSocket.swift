import Edge
import Reactor

/// What a session needs of its `WebSocket`. Simulations substitute their own.
@Reactor
protocol SessionSocket: AnyObject {
    var userInfo: AnyObject? { get set }
    var isOpen: Bool { get }
    var queuedBytes: Int { get }
    var isCongested: Bool { get }
    var maximumMessageBytes: Int { get set }

    /// Bytes held for a message that is still incomplete.
    var heldInputBytes: Int { get }
    /// The least number of bytes that the incomplete message will have, as announced by the client.
    var announcedInputBytes: Int { get }

    func send(_ frame: WebSocketFrame)
    func close(_ code: WebSocketCloseCode)
    /// Stops reading, and delivering what was read, until `resumeReading`. The client has to wait.
    func pauseReading()
    func resumeReading()
    func authenticationFailed()
}

extension SessionSocket {
    func authenticationFailed() {}
}

extension WebSocket: SessionSocket {
    func close(_ code: WebSocketCloseCode) { close(code, reason: "") }
}
