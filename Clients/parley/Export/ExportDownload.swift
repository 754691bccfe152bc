import Archives
import CommandSupport
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// Takes an export from the system into a file, anew as often as it is cut off.
///
/// It holds one line at most; what the disk does not take is not read from the system.
@Reactor
final class ExportDownload: HTTPStreamOwner {
    enum Outcome {
        case complete
        /// Cut off for longer than `patience`, or where nothing can be taken back.
        case unfinished(reason: String)
        case failed(reason: String)
    }

    struct Settings: Sendable {
        let path: String
        /// Nil: standard output.
        let output: String?
        var patience = Duration.seconds(600)
        /// Nothing for so long, and a connection counts as lost.
        var silence = Duration.seconds(120)
    }

    private let settings: Settings
    private let connection: ConnectionArguments
    private var stream: HTTPStream?
    private var calls = 0
    private var status = 0
    private var retryAfter: Duration?
    private var explanation: [UInt8] = []
    private var file: RecordOutput?
    /// A line whose end has not arrived.
    private var partial: [UInt8] = []
    private var writtenBytes = 0
    private var counts: [ImportRecord.Kind: Int] = [:]

    private let begun = MonotonicTime.now
    private var lastBytes = MonotonicTime.now
    private var pause = ExportDownload.firstPause
    private var isStopping = false
    private(set) var trouble: String?
    private var continuation: UnsafeContinuation<Outcome, Never>?

    private static let administrator = UserID("parley-export")!
    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(15)
    private static let explanationBytes = 16 * 1024
    private static let longestLine = 4 * 1024 * 1024

    init(_ settings: Settings, from connection: ConnectionArguments) {
        self.settings = settings
        self.connection = connection
    }

    var isEnded: Bool { continuation == nil }

    /// What has been written.
    var text: String {
        let records = counts.values.reduce(0, +)
        let conversations = counts[.conversation] ?? 0, messages = counts[.message] ?? 0
        return
            "\(grouped(records)) records: \(grouped(messages)) messages of \(grouped(conversations)) conversations, \(grouped(writtenBytes / 1024)) KiB"
    }

    func run() async -> Outcome {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            open()
            watch()
        }
    }

    func stop() {
        isStopping = true
        end(.unfinished(reason: "interrupted"))
    }

    // MARK: Calls

    private func open() {
        (status, retryAfter, partial, explanation, counts, writtenBytes) = (0, nil, [], [], [:], 0)
        do {
            file = nil
            file = try RecordOutput(settings.output ?? "-")
        } catch {
            return end(.failed(reason: "\(error)"))
        }
        lastBytes = .now
        let endpoint = connection.http[calls % connection.http.count]
        calls += 1
        let token = connection.tokens.token(for: Self.administrator, isAdministrator: true)
        stream = HTTPStream(endpoint, HTTPRequest(path: settings.path, token: token), hasBody: false, owner: self)
        if stream == nil { again("no connection to \(endpoint.authority)") }
    }

    func began(status: Int, retryAfter: Duration?) {
        self.status = status
        self.retryAfter = retryAfter
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        lastBytes = .now
        guard status == 200 else {
            explanation.append(contentsOf: bytes.prefix(Self.explanationBytes - explanation.count))
            return
        }
        trouble = nil
        do {
            try write(bytes)
        } catch {
            end(.failed(reason: "\(error)"))
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            partial.append(contentsOf: rest[..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            counts[try SourceRecord(line: partial, at: .line(1), share: 0).kind, default: 0] += 1
            try file?.write(partial)
            writtenBytes += partial.count + 1
            partial.removeAll(keepingCapacity: true)
        }
        partial.append(contentsOf: rest)
        guard partial.count <= Self.longestLine else { throw ArchiveError("a line of the response is too long") }
    }

    func drained() {}

    func ended(_ end: HTTPStream.End) {
        stream = nil
        switch end {
        case .refused: self.end(.failed(reason: "there can be no TLS with the server"))
        case .lost: again("the response was cut off")
        case .complete where status == 200: complete()
        case .complete:
            let reason = "status \(status) \(explanation.withUnsafeBytes(problemDetail))"
            Reply.isTemporary(status) ? again(reason) : self.end(.failed(reason: reason))
        }
    }

    private func complete() {
        guard partial.isEmpty else { return again("the response ends within a line") }
        do {
            try file?.finish()
            end(.complete)
        } catch {
            end(.failed(reason: "\(error)"))
        }
    }

    /// What is on standard output cannot be taken back.
    private func again(_ reason: String) {
        guard !isEnded else { return }
        trouble = reason
        let isTold = settings.output == nil && writtenBytes > 0
        guard !isTold, MonotonicTime.now - begun < settings.patience else { return end(.unfinished(reason: reason)) }
        Reactor.after(retryAfter ?? pause) { [weak self] in
            guard let self, !isEnded else { return }
            open()
        }
        pause = min(pause * 2, Self.longestPause)
    }

    private func end(_ outcome: Outcome) {
        stream?.close()
        stream = nil
        continuation?.resume(returning: outcome)
        continuation = nil
    }

    /// Notices a peer that vanished.
    private func watch() {
        Reactor.after(.seconds(1)) { [weak self] in
            guard let self, !isEnded else { return }
            if let stream, MonotonicTime.now - lastBytes > settings.silence {
                stream.close()
                ended(.lost)
            }
            watch()
        }
    }
}
