import CZMQ

/// A libzmq context with one I/O thread. Every `Socket` retains it, so it ends after the last of them. Terminating it
/// earlier would block for ever.
final class Context: @unchecked Sendable {
    // @unchecked: libzmq documents contexts as thread-safe; `handle` never changes.
    let handle: UnsafeMutableRawPointer

    init() throws(ZeroMQError) {
        guard let handle = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
        self.handle = handle
    }

    deinit { while zmq_ctx_term(handle) == -1 && zmq_errno() == EINTR {} }
}
