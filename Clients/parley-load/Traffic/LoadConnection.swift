import Bytes
import CommandSupport
import Reactor
import ReactorTransport

/// A request that waits for its answer, in three words: who asked for it, the how-manieth it was for them, and when it
/// was due.
struct Outstanding: Sendable {
    let work: Int
    let number: Int
    let due: MonotonicTime
}

@Reactor
protocol LoadConnectionOwner: AnyObject {
    /// The answer's body is valid until this returns.
    func answered(_ request: Outstanding, _ answer: Answer, on connection: LoadConnection)
    /// The connection ended before the answer came: the request may or may not have been carried out.
    func lost(_ request: Outstanding, on connection: LoadConnection)
}

/// A connection for many requests in flight, without a closure, a timer or an object for each. Opened when something is
/// sent, and again when it was lost.
@Reactor
final class LoadConnection: ClientSocketOwner {
    let endpoint: Endpoint
    private unowned let owner: any LoadConnectionOwner
    private var socket: ClientSocket?
    private var parser = AnswerParser()
    private var outstanding = FIFO<Outstanding>()
    private var lastProgress = MonotonicTime.now

    init(_ endpoint: Endpoint, owner: any LoadConnectionOwner) {
        self.endpoint = endpoint
        self.owner = owner
    }

    var inFlight: Int { outstanding.count }

    /// Sends what `write` writes, at the end of the turn.
    func send(_ request: Outstanding, _ write: (inout ByteBuffer) -> Void) {
        guard let socket = openSocket() else {
            Reactor.after(.zero) { [self] in owner.lost(request, on: self) }
            return
        }
        if outstanding.isEmpty { lastProgress = .now }
        outstanding.append(request)
        socket.send(write)
    }

    /// Gives up the connection when nothing has come for longer than `limit` although something should.
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
            parser = AnswerParser()
        }
        return socket
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        lastProgress = .now
        do throws(AnswerParser.Malformed) {
            try parser.parse(bytes) { answer in
                if let request = outstanding.popFirst() { owner.answered(request, answer, on: self) }
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
