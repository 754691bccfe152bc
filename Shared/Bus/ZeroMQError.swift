import CZMQ

/// A call into libzmq that failed, with what `zmq_strerror` says about it.
package struct ZeroMQError: Error, CustomStringConvertible {
    package let call: StaticString
    package let code: CInt
    /// The endpoint or option at fault.
    package let subject: String

    static func last(_ call: StaticString, _ subject: String = "") -> ZeroMQError {
        ZeroMQError(call: call, code: zmq_errno(), subject: subject)
    }

    package var description: String {
        let reason = String(cString: zmq_strerror(code))
        return subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
    }
}
