import Glibc
import Reactor
import Synchronization

/// Makes calls of an object store, and repeats those that may succeed the next time.
///
/// While the store is away, calls fail at once but for one a second, so that no thread waits where there is no hope.
final class S3Client: Sendable {
    private static let tries = 3

    private struct Outage {
        var since: MonotonicTime?
        /// Whether a call finds out if it is over.
        var isProbed = false
    }

    let settings: S3Settings
    /// Between calls that find out whether the store is back.
    private let rest: Duration
    private let idle = Mutex<[S3Handle]>([])
    private let outage = Mutex(Outage())

    init(_ settings: S3Settings, rest: Duration = .seconds(1)) {
        self.settings = settings
        self.rest = rest
    }

    /// - Returns: the response to a call that succeeded.
    func perform(_ call: S3Call) throws(FileError) -> S3Response {
        let response = try send(call)
        guard response.isSuccess else { throw Self.failure(call, response) }
        return response
    }

    /// For a call that removes: what does not exist is gone.
    func remove(_ call: S3Call) throws(FileError) {
        let response = try send(call)
        guard response.isSuccess || response.isAbsent else { throw Self.failure(call, response) }
    }

    static func failure(_ call: S3Call, _ response: S3Response) -> FileError {
        FileError(server: "object store", EIO, "\(call.method.rawValue): \(response.explanation)")
    }

    /// - Returns: any response that is no temporary failure.
    func send(_ call: S3Call) throws(FileError) -> S3Response {
        try requireHope()
        do throws(FileError) {
            let response = try tried(call)
            outage.withLock { $0 = Outage() }
            return response
        } catch {
            outage.withLock { $0 = Outage(since: error.isAway ? .now : $0.since) }
            throw error
        }
    }

    private func tried(_ call: S3Call) throws(FileError) -> S3Response {
        var attempt = 1
        while true {
            switch outcome(of: call) {
            case .success(let response) where !Self.isTemporary(response.status): return response
            case .success(let response) where attempt == Self.tries: throw Self.failure(call, response)
            case .failure(let error) where attempt == Self.tries || error.code == ETIMEDOUT || error.detail == nil:
                throw error
            case .success, .failure: break
            }
            // 200 ms, 400 ms, and up to as much again, so that those who failed together do not return together.
            usleep(UInt32(100_000 << attempt) + .random(in: 0..<UInt32(100_000 << attempt)))
            attempt += 1
        }
    }

    private func requireHope() throws(FileError) {
        let hasHope = outage.withLock { outage in
            guard let since = outage.since else { return true }
            guard !outage.isProbed, .now - since >= rest else { return false }
            outage.isProbed = true
            return true
        }
        if !hasHope { throw FileError(server: "object store", ECONNREFUSED, "it was away a moment ago") }
    }

    private func outcome(of call: S3Call) -> Result<S3Response, FileError> {
        let handle = idle.withLock { $0.popLast() } ?? S3Handle(settings)
        defer { idle.withLock { $0.append(handle) } }
        return Result { () throws(FileError) in try handle.perform(call) }
    }

    private static func isTemporary(_ status: Int) -> Bool { status == 408 || status == 429 || status >= 500 }
}
