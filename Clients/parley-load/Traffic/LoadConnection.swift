import Bytes
import CommandSupport
import Reactor
import ReactorTransport

/// A request in flight, in three words: its owner, its number among the owner's requests, and when it was due.
struct Outstanding: Sendable {
    let work: Int
    let number: Int
    let due: MonotonicTime
}

@Reactor
protocol LoadConnectionOwner: AnyObject {
    /// Called with the response. Its body is valid until this returns.
    func answered(_ request: Outstanding, _ response: Response, on connection: LoadConnection)
    /// Called when the connection ended before the response. The request may or may not have been carried out.
    func lost(_ request: Outstanding, on connection: LoadConnection)
}

/// A connection for many requests in flight, without a closure, timer or object for each. It is opened when something
/// is sent, and reopened when lost.
@Reactor
final class LoadConnection: ClientSocketOwner {
    let endpoint: Endpoint
    private unowned let owner: any LoadConnectionOwner
    private var socket: ClientSocket?
    private var parser = PipelineParser()
    private var outstanding = FIFO<Outstanding>()
    private var lastProgress = MonotonicTime.now

    init(_ endpoint: Endpoint, owner: any LoadConnectionOwner) {
        self.endpoint = endpoint
        self.owner = owner
    }

    var inFlight: Int { outstanding.count }

    /// Sends what `write` appends, at the end of the turn.
    func send(_ request: Outstanding, _ write: (inout ByteBuffer) -> Void) {
        guard let socket = openSocket() else {
            Reactor.after(.zero) { [self] in owner.lost(request, on: self) }
            return
        }
        if outstanding.isEmpty { lastProgress = .now }
        outstanding.append(request)
        socket.send(write)
    }

    /// Closes the connection when nothing has come for longer than `limit` although a response is due.
    func checkTimeout(_ limit: Duration) {
        guard inFlight > 0, MonotonicTime.now - lastProgress > limit else { return }
        socket?.close()
        closed()
    }

    func close() {
        socket?.close()
        socket = nil
    }

    private func openSocket() -> ClientSocket? {
        if socket == nil {
            socket = ClientSocket(endpoint, owner: self)
            parser = PipelineParser()
        }
        return socket
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        lastProgress = .now
        do throws(PipelineParser.Malformed) {
            try parser.parse(bytes) { response in
                if let request = outstanding.popFirst() { owner.answered(request, response, on: self) }
            }
            if parser.keepsAlive { return }
        } catch {
            Terminal.tell("parley: \(endpoint) answered with \(error.reason)")
        }
        socket?.close()
        closed()
    }

    func closed() {
        socket = nil
        let lost = outstanding
        outstanding = FIFO()
        for request in lost { owner.lost(request, on: self) }
    }
}
