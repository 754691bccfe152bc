import CZMQ

/// A failed libzmq call, described by `zmq_strerror`.
public struct ZeroMQError: Error, CustomStringConvertible {
    public let call: StaticString
    public let code: CInt
    /// The endpoint or option of the call.
    public let subject: String

    static func last(_ call: StaticString, _ subject: String = "") -> ZeroMQError {
        ZeroMQError(call: call, code: zmq_errno(), subject: subject)
    }

    public var description: String {
        let reason = String(cString: zmq_strerror(code))
        return subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
    }
}
