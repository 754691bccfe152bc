import Bytes
import Reactor
import Testing

@testable import Edge

/// A connection without a socket.
@Suite struct HTTPConnectionStateTests {
    private final class Peer {
        var limits = ServerLimits()
        private var state: HTTPConnectionState
        var sweep: UInt32 = 0
        private let writer = ResponseWriter(second: 0)

        init(behindProxy: Bool = false, _ change: (inout ServerLimits) -> Void = { _ in }) {
            change(&limits)
            state = HTTPConnectionState(limits, SweepTimeouts(limits), behindProxy: behindProxy, at: 0)
        }

        var bufferedBytes: Int { state.bufferedBytes }
        var arrivingBodyBytes: Int { state.arrivingBodyBytes }
        var wantsToSend: Bool { state.wantsToSend }
        var wantsHeld: Bool { state.wantsHeld }
        var mayDiscardBody: Bool { state.mayDiscardBody }
        var expectsProxyHeader: Bool { state.expectsProxyHeader }
        var isFinished: Bool { state.isFinished }
        var phase: HTTPConnectionState.Phase { state.phase }
        var interest: Interest { state.interest }

        /// Sends bytes, and opens each request that is complete. Returns the events before the end of the input.
        @discardableResult
        func send(_ text: String) -> [HTTPConnectionState.Event] { take(Array(text.utf8)) }

        func take(_ bytes: [UInt8]) -> [HTTPConnectionState.Event] {
            var bytes = bytes
            var events: [HTTPConnectionState.Event] = []
            bytes.withUnsafeMutableBytes { bytes in
                var input = bytes
                while true {
                    let event = state.next(&input, at: sweep)
                    if event == .end { break }
                    events.append(event)
                    switch event {
                    case .head: _ = state.admitBody(upTo: 100)
                    case .request, .upgrade: _ = state.open(isLast: false)
                    case .failure: _ = state.openFailure()
                    case .piece, .lastPiece, .end: break
                    }
                }
            }
            return events
        }

        func next(_ input: inout UnsafeMutableRawBufferPointer) -> HTTPConnectionState.Event {
            state.next(&input, at: sweep)
        }

        func takeHeld() -> [HTTPConnectionState.Event] { take(state.takeHeld()) }

        @discardableResult
        func respond(_ ticket: UInt32, _ text: String = "") -> Bool {
            Array(text.utf8).withUnsafeBytes { state.respond(ticket, 200, .text, [], $0, writer, at: sweep) }
        }

        func refuse(goesOn: Bool) -> UInt32 { state.openRefusal(goesOn: goesOn) }

        /// What the peer reads.
        func read() -> String {
            let text = String(decoding: state.unsent, as: UTF8.self)
            state.sent(state.unsent.count)
            return text
        }

        func block() -> Bool { state.block(wasBlocked: false, at: sweep) }
        func unblock() { _ = state.unblock() }
        func finish() { state.finish() }
        func endOfInput() { state.endOfInput() }
        func linger() { state.linger(at: sweep) }
        func sendContinue() -> Bool { state.sendContinue() }
        func takeProxyHeader(_ bytes: [UInt8]) -> HTTPConnectionState.ProxyEvent {
            bytes.withUnsafeBytes { state.takeProxyHeader($0) }
        }
        func overdue(isServerFull: Bool = false) -> HTTPConnectionState.Overdue {
            state.overdue(at: sweep, isServerFull: isServerFull)
        }
    }

    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    private static let lastGet = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    private static let post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"

    @Test("responses are sent in the order of their requests, whatever order they are made in")
    func order() {
        let peer = Peer()
        #expect(peer.send(Self.get + Self.get + Self.get) == [.request, .request, .request])
        #expect(peer.respond(2, "third") == false)
        #expect(peer.respond(1, "second") == false)
        #expect(peer.bufferedBytes > 0 && !peer.wantsToSend)
        #expect(peer.respond(0, "first") == true)
        #expect(peer.respond(0, "again") == false, "a second response is dropped")
        let text = peer.read()
        let places = ["first", "second", "third"].compactMap { text.firstRange(of: $0)?.lowerBound }
        #expect(places.count == 3 && places == places.sorted() && !text.contains("again"))
        #expect(peer.bufferedBytes == 0)
    }

    @Test("at the limit of outstanding responses the rest is held, and parsed again when half of them are sent")
    func heldInput() {
        let peer = Peer { $0.outstandingResponses = 4 }
        #expect(peer.send(String(repeating: Self.get, count: 7)).count == 4)
        #expect(!peer.interest.contains(.read) && peer.bufferedBytes == 3 * Self.get.utf8.count)
        peer.respond(0)
        #expect(!peer.wantsHeld)
        peer.respond(1)
        #expect(peer.wantsHeld)
        #expect(peer.takeHeld() == [.request, .request], "the fifth and the sixth; the seventh is held again")
        #expect(!peer.interest.contains(.read))
    }

    @Test("a connection that ends closes after its last response, and lingers until the peer has closed")
    func ending() {
        let peer = Peer()
        #expect(peer.send(Self.lastGet + Self.get) == [.request], "nothing is read behind the last request")
        #expect(peer.phase == .finishing && !peer.isFinished)
        peer.respond(0)
        #expect(!peer.isFinished)
        #expect(peer.read().contains("Connection: close"))
        #expect(peer.isFinished)
        peer.linger()
        #expect(peer.interest == .read)
        peer.sweep = 1_000
        #expect(peer.overdue() == .close)
    }

    @Test("a peer that ends its side gets the outstanding responses, the last of which says that it is")
    func halfClosed() {
        let peer = Peer()
        peer.send(Self.get)
        peer.endOfInput()
        peer.finish()
        #expect(!peer.isFinished && peer.interest == [])
        peer.respond(0)
        #expect(peer.read().contains("Connection: close") && peer.isFinished)
    }

    @Test("100 Continue waits for the responses to earlier requests, and is sent once")
    func expectContinue() {
        let peer = Peer()
        let expecting = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
        #expect(peer.send(Self.get + expecting) == [.request, .head])
        #expect(peer.sendContinue() == false)
        peer.respond(0)
        #expect(peer.sendContinue() == true)
        #expect(peer.sendContinue() == false)
        #expect(peer.read().hasSuffix("100 Continue\r\n\r\n"))
        #expect(peer.send("body") == [.request])
        let other = Peer().send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: more\r\n\r\n")
        #expect(other == [.failure(.expectationUnknown)])
    }

    @Test("a body is counted while it arrives, and refused as soon as it is known to be too long")
    func bodies() {
        let peer = Peer()
        #expect(peer.send(Self.post + "bo") == [.head])
        #expect(peer.arrivingBodyBytes == 2)
        #expect(peer.send("dy") == [.request])
        #expect(peer.arrivingBodyBytes == 0)
        let chunked = Peer()
        let chunk = String(repeating: "x", count: 101)
        let events = chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n\(chunk)\r\n")
        #expect(events == [.head, .failure(.bodyTooLarge)])
    }

    @Test("the body of a refused request is discarded, and the next request is served")
    func discarded() {
        let peer = Peer()
        var bytes = Array(Self.post.utf8)
        bytes.withUnsafeMutableBytes { bytes in
            var input = bytes
            #expect(peer.next(&input) == .head)
            #expect(peer.mayDiscardBody)
            peer.respond(peer.refuse(goesOn: true), "no")
            #expect(peer.next(&input) == .end)
        }
        #expect(peer.send("body" + Self.get) == [.request])
        #expect(peer.read().contains("no") && peer.phase == .open)
    }

    @Test("a request, a first request and a connection without one have their times")
    func timeouts() {
        let timeouts = SweepTimeouts(ServerLimits())
        let silent = Peer()
        silent.send("\r\n")
        silent.sweep = timeouts.firstRequest
        #expect(silent.overdue() == .nothing)
        silent.sweep += 1
        #expect(silent.overdue() == .finish, "an empty line is no request")
        let slow = Peer()
        slow.send("GET /")
        slow.sweep = timeouts.head + 1
        #expect(slow.overdue() == .refuse(.headTimeout))
        let idle = Peer()
        idle.send(Self.get)
        idle.sweep = timeouts.idle + 1
        #expect(idle.overdue() == .nothing, "it waits for a response")
        idle.respond(0)
        #expect(idle.overdue() == .nothing)
        idle.sweep += timeouts.idle + 1
        #expect(idle.overdue() == .finish)
    }

    @Test("a peer that does not read is closed after its time, sooner while the server is full, at once far behind")
    func slowReaders() {
        let peer = Peer { $0.unreadResponseBytes = 100 }
        peer.send(Self.get)
        peer.respond(0, String(repeating: "x", count: 50))
        #expect(peer.block() == false)
        #expect(peer.interest.contains(.write) && !peer.wantsToSend)
        #expect(peer.overdue() == .nothing && peer.overdue(isServerFull: true) == .slowReader)
        peer.sweep = SweepTimeouts(ServerLimits()).write + 1
        #expect(peer.overdue() == .slowReader)
        peer.unblock()
        #expect(peer.overdue() == .nothing && peer.wantsToSend)
        let far = Peer { $0.maximumUnreadResponseBytes = 10 }
        far.send(Self.get)
        far.respond(0)
        #expect(far.block() == true)
    }

    @Test("a proxy's header comes first, in any pieces; what follows it belongs to the requests")
    func proxyHeader() {
        let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
        let header = signature + [0x21, 0x11, 0, 12, 10, 1, 2, 3, 10, 0, 0, 1, 0, 1, 0, 2]
        let peer = Peer(behindProxy: true)
        #expect(peer.expectsProxyHeader)
        #expect(peer.takeProxyHeader(Array(header.prefix(20))) == .needsMore)
        guard case .begins(let source?, let rest) = peer.takeProxyHeader(Array(header.dropFirst(20)) + [71]) else {
            Issue.record("the header is complete")
            return
        }
        #expect(rest == [71] && !peer.expectsProxyHeader)
        #expect(source == ([10, 1, 2, 3] as [UInt8]).withUnsafeBytes { IPAddress(networkOrder: $0) })
        #expect(Peer(behindProxy: true).takeProxyHeader([71, 69]) == .begins(nil, rest: [71, 69]))
        #expect(Peer(behindProxy: true).takeProxyHeader(signature + [0xFF, 0x11, 0, 0]) == .malformed)
    }
}
