import Reactor
import Wire

/// Where the frames of a process go: its PUB socket, or in a simulation what plays it.
@Reactor
public protocol FramePublisher: AnyObject {
    /// Never blocks and never reports a loss. The bytes are valid until this returns.
    func send(_ frame: UnsafeRawBufferPointer)
    func close()
}

/// Where frames come from: a SUB socket, or in a simulation what plays it.
@Reactor
public protocol FrameSubscriber: AnyObject {
    func subscribe(_ topic: Topic)
    func unsubscribe(_ topic: Topic)
    /// Connections that ended before both sides knew who the other is.
    var failedHandshakes: Int { get }
    func close()
}

extension FrameSubscriber {
    public var failedHandshakes: Int { 0 }
}
