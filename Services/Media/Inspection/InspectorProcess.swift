import CLinux
import Glibc
import Reactor

/// A process that looks into one file, and what it writes.
///
/// It was made by an `InspectorServer`. What it hands over before it looks at the file is a descriptor of itself, with which
/// it is killed at the end, whatever it says.
@Reactor
final class InspectorProcess: DescriptorHandler {
    enum Output: Sendable {
        case bytes([UInt8])
        case end
        /// It took longer than its deadline.
        case late
        /// It did not begin, or its server has ended and so it had to: that says nothing of the file.
        case interrupted
    }

    private static let readBytes = 256 << 10

    private let server: InspectorServer
    private let output: CInt
    /// Of the process, once it was handed over.
    private var handle: CInt?
    private var waiting: UnsafeContinuation<Output, Never>?
    private var isLate = false
    private var isClosed = false
    private var timer: TimerID?

    /// - Parameter output: what the process writes to, from here on this object's to close.
    init(of server: InspectorServer, output: CInt, deadline: Duration) {
        self.server = server
        self.output = output
        Reactor.watch(output, for: [], handler: self)
        timer = Reactor.after(deadline) { [weak self] in self?.isOverdue() }
    }

    /// The next bytes that it writes. One waits at a time.
    func next() async -> Output {
        await withUnsafeContinuation { continuation in
            waiting = continuation
            if isLate { return resume(late) }
            Reactor.change(output, to: .read)
        }
    }

    func ready(_: Readiness) {
        guard waiting != nil else { return Reactor.change(output, to: []) }
        guard handle != nil else { return takeOver() }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.readBytes) { buffer, used in
            count = read(output, buffer.baseAddress, Self.readBytes)
            used = max(0, count)
        }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        resume(count > 0 ? .bytes(bytes) : server.hasEnded ? .interrupted : .end)
    }

    private func takeOver() {
        var descriptor: CInt = -1
        let received = linux_receive_descriptors(output, &descriptor, 1)
        if received > 0 { return handle = descriptor }
        if received < 0, errno == EAGAIN || errno == EINTR { return }
        resume(.interrupted)
    }

    private func resume(_ output: Output) {
        if !isClosed { Reactor.change(self.output, to: []) }
        waiting.take()?.resume(returning: output)
    }

    /// A process that does not even begin has a server that does nothing any more.
    private func isOverdue() {
        isLate = true
        if handle == nil { server.end() }
        resume(late)
    }

    private var late: Output { handle == nil ? .interrupted : .late }

    /// Ends the process, if it has not ended itself. One that has not handed itself over cannot, without its reader.
    func end() {
        guard !isClosed else { return }
        isClosed = true
        if let timer { Reactor.cancel(timer) }
        Reactor.forget(output)
        close(output)
        if let handle {
            _ = linux_end_process(handle)
            close(handle)
        }
    }
}
