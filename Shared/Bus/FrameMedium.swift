import Reactor
import Wire

/// Sends the frames of a process: its PUB socket, or a simulated one.
@Reactor
public protocol FramePublisher: AnyObject {
    /// Sends a frame without blocking; a loss is not reported. The bytes are valid until this returns.
    func send(_ frame: UnsafeRawBufferPointer)
    func close()
}

/// Receives frames: a SUB socket, or a simulated one.
@Reactor
public protocol FrameSubscriber: AnyObject {
    func subscribe(_ topic: Topic)
    func unsubscribe(_ topic: Topic)
    /// Connections that ended before the handshake was complete.
    var failedHandshakes: Int { get }
    func close()
}

extension FrameSubscriber {
    public var failedHandshakes: Int { 0 }
}
