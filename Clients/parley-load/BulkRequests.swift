import ParleyClient
import Reactor
import ReactorTransport

/// Sends many independent requests, pipelined, before and after a measurement.
@Reactor
final class BulkRequests {
    /// Thrown by a handler when parts of the request were refused temporarily, so that all of it must be repeated.
    struct NotYet: Error {}

    private let http: HTTPClient
    private let count: Int
    private let request: @Reactor (Int) -> HTTPRequest
    private let handle: @Reactor (Int, HTTPResponse) throws -> Void
    private var started = 0
    private var finished = 0
    private var failure: APIError?
    private var whenDone: UnsafeContinuation<Void, Never>?
    private let start = MonotonicTime.now

    private static let atOnce = 256
    private static let pause = Duration.milliseconds(100)
    /// How long temporarily refused requests are repeated.
    private static let patience = Duration.seconds(120)

    /// Returns when each of `count` requests has its response handled. Throws the first failure.
    static func run(
        _ count: Int, over http: HTTPClient, request: @escaping @Reactor (Int) -> HTTPRequest,
        handle: @escaping @Reactor (Int, HTTPResponse) throws -> Void
    ) async throws(APIError) {
        let bulk = BulkRequests(count, http, request, handle)
        for _ in 0..<min(count, atOnce) { bulk.startNext() }
        if bulk.finished < count { await withUnsafeContinuation { bulk.whenDone = $0 } }
        if let failure = bulk.failure { throw failure }
    }

    private init(
        _ count: Int, _ http: HTTPClient, _ request: @escaping @Reactor (Int) -> HTTPRequest,
        _ handle: @escaping @Reactor (Int, HTTPResponse) throws -> Void
    ) {
        self.count = count
        self.http = http
        self.request = request
        self.handle = handle
    }

    private func startNext() {
        guard started < count else { return }
        started += 1
        send(started - 1)
    }

    private func send(_ index: Int) {
        http.send(request(index)) { [self] outcome in
            switch outcome {
            case .lost, .refused: again(index, after: Self.pause)
            case .response(let response) where Reply.isTemporary(response.status):
                again(index, after: response.retryAfter ?? Self.pause)
            case .response(let response): finish(index, response)
            }
        }
    }

    private func again(_ index: Int, after pause: Duration) {
        guard failure == nil, MonotonicTime.now - start < Self.patience else {
            return fail(index, status: 0, "no answer within \(Self.patience)")
        }
        Reactor.after(pause) { [self] in send(index) }
    }

    private func finish(_ index: Int, _ response: HTTPResponse) {
        guard (200..<300).contains(response.status) else {
            return fail(index, status: response.status, problemDetail(response.body))
        }
        do {
            try handle(index, response)
        } catch is NotYet {
            return again(index, after: Self.pause)
        } catch {
            return fail(index, status: response.status, "\(error)")
        }
        end()
    }

    private func fail(_ index: Int, status: Int, _ detail: String) {
        if failure == nil {
            let request = request(index)
            failure = APIError(request: "\(request.method) \(request.path)", status: status, detail: detail)
        }
        end()
    }

    private func end() {
        finished += 1
        // After a failure the remaining requests are not started.
        if failure != nil { finished += count - started; started = count }
        startNext()
        guard finished >= count else { return }
        whenDone?.resume()
        whenDone = nil
    }
}
