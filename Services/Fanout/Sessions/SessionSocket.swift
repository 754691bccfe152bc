import Edge
import Reactor

/// What a session needs of its WebSocket. See there; in a simulation something else plays it.
@Reactor
protocol SessionSocket: AnyObject {
    var userInfo: AnyObject? { get set }
    var isOpen: Bool { get }
    var queuedBytes: Int { get }
    var isCongested: Bool { get }
    var maximumMessageBytes: Int { get set }

    /// Bytes of a message that has not arrived as a whole.
    var heldInputBytes: Int { get }
    /// Bytes that this message will have at least, as the client says.
    var announcedInputBytes: Int { get }

    func send(_ frame: WebSocketFrame)
    func close(_ code: WebSocketCloseCode)
    /// Nothing more is read, nor handed on of what was read, until `resumeReading`: the client has to wait.
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
