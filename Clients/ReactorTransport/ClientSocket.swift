import Bytes
import CLinux
import Glibc
import Reactor

/// The receiver of a `ClientSocket`.
@Reactor
public protocol ClientSocketOwner: AnyObject {
    /// Called with received bytes, which are valid until this returns.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// Called when everything that was sent has left for the system.
    func drained()
    /// Called once, as the last call, when the connection has ended or could not be established.
    func closed()
}

extension ClientSocketOwner {
    public func drained() {}
}

/// A client's TCP connection, with TLS if the endpoint requires it. Sent data is collected and written once at the end
/// of the turn.
@Reactor
public final class ClientSocket: DescriptorHandler {
    /// Releasing the owner without calling `close` also closes the connection.
    private weak var owner: (any ClientSocketOwner)?
    private let descriptor: CInt
    private let tls: TLSSession?
    private var output = ByteBuffer(capacity: 256)
    private var isFlushScheduled = false
    private var watchesWriting = true
    private var isPaused = false
    public private(set) var isClosed = false
    /// Why it was closed, if trying again is of no use.
    public var refusal: TLSRefusal? { tls?.refusal }

    /// Shared, because every owner is done with the bytes before the next one reads.
    private static let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)

    /// Starts to connect. Nil when that fails at once.
    public init?(_ endpoint: Endpoint, owner: any ClientSocketOwner) {
        guard let descriptor = endpoint.connect() else { return nil }
        tls =
            endpoint.isSecure
            ? TLSContext.shared.flatMap { TLSSession(descriptor, with: endpoint, in: $0) } : nil
        self.descriptor = descriptor
        self.owner = owner
        guard !endpoint.isSecure || tls != nil else {
            Glibc.close(descriptor)
            return nil
        }
        // Writable means connected. A failure is reported as readable with an error.
        Reactor.watch(descriptor, for: [.read, .write], handler: self)
    }

    /// Appends what `body` writes to the data to be sent.
    public func send(_ body: (inout ByteBuffer) -> Void) {
        guard !isClosed else { return }
        body(&output)
        guard !isFlushScheduled, !watchesWriting else { return }
        isFlushScheduled = true
        Reactor.atEndOfTurn { [self] in
            isFlushScheduled = false
            flush()
        }
    }

    /// The bytes that were sent and have not left yet.
    public var unsentBytes: Int { output.count }

    /// Closes the connection without notifying the owner.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        Reactor.forget(descriptor)
        Glibc.close(descriptor)
    }

    /// Leaves what arrives where it is, so that the sender has to wait.
    public func pause() {
        guard !isPaused, !isClosed else { return }
        isPaused = true
        Reactor.change(descriptor, to: interest)
    }

    /// Reads again. Not to be called while the owner receives.
    public func resume() {
        guard isPaused, !isClosed else { return }
        isPaused = false
        Reactor.change(descriptor, to: interest)
        // What TLS has read already would not be announced.
        if tls != nil { receive() }
    }

    public func ready(_ readiness: Readiness) {
        guard owner != nil else { return close() }
        // The end is announced again and again until it is read.
        if readiness.contains(.hangup) || readiness.contains(.failure) { isPaused = false }
        if readiness.contains(.read) || readiness.contains(.hangup) || readiness.contains(.failure) { receive() }
        // TLS responds to what it read, and may have needed that before it could write.
        if readiness.contains(.write) || tls != nil { flush() }
    }

    private func receive() {
        if let tls { return receive(by: tls) }
        while !isClosed, !isPaused {
            let count = recv(descriptor, Self.readBuffer.baseAddress, Self.readBuffer.count, 0)
            if count > 0 {
                owner?.received(UnsafeRawBufferPointer(rebasing: Self.readBuffer[..<count]))
                if count < Self.readBuffer.count { return }
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                return
            } else {
                return end()
            }
        }
    }

    private func receive(by tls: TLSSession) {
        while !isClosed, !isPaused {
            switch tls.read(into: Self.readBuffer) {
            case .done(let count): owner?.received(UnsafeRawBufferPointer(rebasing: Self.readBuffer[..<count]))
            case .wait(let forWriting): return forWriting ? watchWriting(true) : ()
            case .ended: return end()
            }
        }
    }

    private func flush() {
        guard !isClosed else { return }
        if let tls { return flush(by: tls) }
        if !output.isEmpty {
            let count = Glibc.send(descriptor, output.bytes.baseAddress, output.count, CInt(MSG_NOSIGNAL))
            if count < 0, errno != EAGAIN, errno != EINTR { return end() }
            output.removeFirst(max(0, count))
        }
        watchWriting(!output.isEmpty)
        if output.isEmpty { owner?.drained() }
    }

    private func flush(by tls: TLSSession) {
        while !output.isEmpty {
            switch tls.write(output.bytes) {
            case .done(let count): output.removeFirst(count)
            case .wait(let forWriting): return watchWriting(forWriting)
            case .ended: return end()
            }
        }
        watchWriting(false)
        owner?.drained()
    }

    private func watchWriting(_ isNeeded: Bool) {
        guard isNeeded != watchesWriting else { return }
        watchesWriting = isNeeded
        Reactor.change(descriptor, to: interest)
    }

    private var interest: Interest {
        let reading: Interest = isPaused ? [] : .read
        return watchesWriting ? reading.union(.write) : reading
    }

    private func end() {
        guard !isClosed else { return }
        close()
        owner?.closed()
    }
}
