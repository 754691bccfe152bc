import Reactor

@testable import Edge
@testable import Ingest

/// One request to ingest and its response. The request is parsed as if read from a socket, and the response is what the
/// socket would be given. Both take time. If the process ends, there is no response.
@Reactor
final class IngestConnection: RequestConnection {
    struct Response {
        let status: Int
        let body: [UInt8]
    }

    var userInfo: AnyObject?
    private(set) var isClosed = false
    private unowned let world: World
    private let parser = RequestParser(headLimit: 64 * 1024)
    private let answered: @Reactor (Response) -> Void

    private init(_ world: World, _ answered: @escaping @Reactor (Response) -> Void) {
        self.world = world
        self.answered = answered
    }

    static func ask(
        _ ingest: IngestService, on node: Node, _ request: [UInt8], in world: World,
        answered: @escaping @Reactor (Response) -> Void
    ) {
        let connection = IngestConnection(world, answered)
        world.after(world.microseconds(100...1000)) {
            node.turn { connection.take(request, for: ingest) }
        }
    }

    private var account: (any RequestAccount)?

    private func take(_ request: [UInt8], for ingest: IngestService) {
        var bytes = request
        bytes.withUnsafeMutableBytes { bytes in
            var input = bytes
            while true {
                switch parser.next(&input) {
                case .head:
                    guard admit(to: ingest) else { return }
                case .request:
                    guard parser.hasBody || admit(to: ingest) else { return }
                    return ingest.handle(
                        Request(connection: self, parser: parser, account: account),
                        Responder(connection: self, ticket: 0))
                case .needsMore, .failure:
                    return world.violated("ingest cannot parse \(String(decoding: request, as: UTF8.self))")
                }
            }
        }
    }

    /// Returns false if the request is refused because of its head.
    private func admit(to ingest: IngestService) -> Bool {
        switch ingest.admit(Request(connection: self, parser: parser)) {
        case .admitted(let bodyBytes, let account):
            parser.bodyLimit = bodyBytes
            self.account = account
            return true
        case .refused(let refusal):
            refusal.body.withUnsafeBytes { respond(0, refusal.status, .problem, [], $0) }
        case .streamed:
            world.violated("no client of the simulation streams")
        case .bodyTooLarge:
            world.violated("no client sends that much")
        }
        return false
    }

    func respond(
        _: UInt32, _ status: Int, _: ContentType, _: [ResponseHeader], _ body: UnsafeRawBufferPointer
    ) {
        guard !isClosed else { return world.violated("a request is answered twice") }
        isClosed = true
        let response = Response(status: status, body: Array(body))
        world.after(world.microseconds(100...1000)) { [self] in answered(response) }
    }
}
