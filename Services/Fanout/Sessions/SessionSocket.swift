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

    func send(_ frame: WebSocketFrame)
    func close(_ code: WebSocketCloseCode)
    func authenticationFailed()
}

extension SessionSocket {
    func authenticationFailed() {}
}

extension WebSocket: SessionSocket {
    func close(_ code: WebSocketCloseCode) { close(code, reason: "") }
}
