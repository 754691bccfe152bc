import Archives
import Bytes
import CommandSupport
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// Sends an archive to `POST /v1/import` until every line has its result.
///
/// A call that is cut off, refused for now, or has no time for a line is followed by another one, which begins with the
/// first line without a result. Lines that were stored meanwhile are recognised by the server.
@Reactor
final class ImportUpload: HTTPStreamOwner {
    enum Outcome {
        /// Every line has its result. The report is missing if the archive could not be read to its end.
        case complete(Result<ArchiveReport, any Error>)
        /// It was to stop, or the server was away for too long: the same command continues.
        case unfinished(reason: String)
        /// It cannot go on, however often it is tried.
        case failed(reason: String)
    }

    struct Settings: Sendable {
        /// How long it is tried without the result of a single line.
        var patience = Duration.seconds(600)
        var opensDespiteRefusals = false
        /// Whether what comes to a conversation that was imported before is left to somebody else.
        var leavesLaterRows = false
        /// Nothing for so long, and a connection counts as lost. The server's own patience is half a minute.
        var silence = Duration.seconds(120)
        /// The server ends a request whose body brings nothing for a minute.
        var keepAlive = Duration.seconds(20)
    }

    private let connection: ConnectionArguments
    private let settings: Settings
    private let reader: any ArchiveReader & Sendable
    private var feed: ArchiveFeed?
    private var window: ImportWindow

    private var calls = 0
    private var stream: HTTPStream?
    private var results = ImportResultReader()
    private var status = 0
    private var retryAfter: Duration?
    /// The body of a response that is no list of results.
    private var explanation: [UInt8] = []

    private var pause = ImportUpload.firstPause
    private var isPausing = false
    private(set) var isStopping = false
    /// When something was last sent, when it last became the server's turn, and when a line last had a final result.
    private var lastSent = MonotonicTime.now
    private var lastTurn = MonotonicTime.now
    private var lastSettled = MonotonicTime.now
    private(set) var trouble: String?
    private var continuation: UnsafeContinuation<Outcome, Never>?

    private static let administrator = UserID("parley-import")!
    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(15)
    /// Sent at a time; no more is prepared while this much has not left.
    private static let pieceBytes = 64 * 1024
    private static let explanationBytes = 16 * 1024

    init(_ reader: any ArchiveReader & Sendable, to connection: ConnectionArguments, settings: Settings) {
        self.reader = reader
        self.connection = connection
        self.settings = settings
        window = ImportWindow(
            opensDespiteRefusals: settings.opensDespiteRefusals, leavesLaterRows: settings.leavesLaterRows)
    }

    var tally: ImportTally { window.tally }
    /// The rows of which something was left.
    var laterRows: [Int64] { window.laterRows }

    func run() async -> Outcome {
        feed = ArchiveFeed(reader) { [weak self] in self?.advance() }
        watch()
        return await withUnsafeContinuation { continuation in
            self.continuation = continuation
            advance()
        }
    }

    /// Sends nothing more, and ends when what is on its way has its results.
    func stop() {
        guard !isStopping else { return }
        isStopping = true
        feed?.stop()
        stream == nil ? finish(.unfinished(reason: "interrupted")) : advance()
    }

    // MARK: Progress

    private func advance() {
        guard continuation != nil else { return }
        fill()
        if let stream { return advance(stream) }
        guard !isPausing else { return }
        if window.hasWaiting { return open() }
        guard window.isSettled, let end = feed?.end else { return }
        window.finish()
        finish(.complete(end))
    }

    private func fill() {
        guard !isStopping else { return }
        while window.hasRoom, let line = feed?.take() { window.add(line) }
    }

    private func advance(_ stream: HTTPStream) {
        let isOver = window.isSettled && feed?.end != nil
        guard !isStopping, !window.isDisturbed, !isOver else { return stream.endBody() }
        while stream.unsentBytes < Self.pieceBytes, window.hasWaiting {
            var piece = ByteBuffer(capacity: Self.pieceBytes)
            while piece.count < Self.pieceBytes, let line = window.next() {
                piece.append(line.bytes)
                piece.append("\n")
            }
            (lastSent, lastTurn) = (.now, .now)
            stream.send(piece.bytes)
            fill()
        }
    }

    private func finish(_ outcome: Outcome) {
        feed?.stop()
        stream?.close()
        stream = nil
        continuation?.resume(returning: outcome)
        continuation = nil
    }

    // MARK: Calls

    private func open() {
        (status, retryAfter, explanation, results) = (0, nil, [], ImportResultReader())
        (lastSent, lastTurn) = (.now, .now)
        let token = connection.tokens.token(for: Self.administrator, isAdministrator: true)
        let endpoint = connection.http[calls % connection.http.count]
        calls += 1
        stream = HTTPStream(endpoint, HTTPRequest(method: "POST", path: "/v1/import", token: token), owner: self)
        guard let stream else { return callEnded("no connection to \(endpoint.authority)") }
        advance(stream)
    }

    func began(status: Int, retryAfter: Duration?) {
        self.status = status
        self.retryAfter = retryAfter
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        lastTurn = .now
        guard status == 200 else {
            explanation.append(contentsOf: bytes.prefix(Self.explanationBytes - explanation.count))
            return
        }
        let settled = window.tally.settled
        do throws(ImportResultReader.Violation) {
            try results.take(bytes) { result throws(ImportResultReader.Violation) in
                try window.take(result)
                if Reply.isTemporary(result.status) {
                    trouble = "status \(result.status) \(result.problem?.detail ?? "")"
                }
            }
        } catch {
            return finish(.failed(reason: "the server does not follow the protocol: \(error.reason)"))
        }
        if window.tally.settled > settled {
            lastSettled = .now
            pause = Self.firstPause
            if !window.isDisturbed { trouble = nil }
        }
        advance()
    }

    func drained() { advance() }

    func ended(_ end: HTTPStream.End) {
        stream = nil
        switch end {
        case .refused: callEnded("there can be no TLS with the server", isFinal: true)
        case .lost: callEnded("the connection was lost")
        case .complete where status == 200: callEnded(trouble)
        case .complete:
            let detail = explanation.withUnsafeBytes(problemDetail)
            callEnded("status \(status) \(detail)", isFinal: !Reply.isTemporary(status))
        }
    }

    /// - Parameter reason: why there has to be another call; nil if only because there is more to send.
    private func callEnded(_ reason: String?, isFinal: Bool = false) {
        window.callEnded()
        if isFinal { return finish(.failed(reason: reason ?? "")) }
        guard !isStopping else { return finish(.unfinished(reason: "interrupted")) }
        guard window.hasWaiting else { return advance() }
        trouble = reason
        if MonotonicTime.now - lastSettled > settings.patience {
            return finish(.unfinished(reason: reason ?? "the server stores nothing"))
        }
        isPausing = true
        Reactor.after(retryAfter ?? pause) { [weak self] in
            guard let self else { return }
            isPausing = false
            advance()
        }
        pause = min(pause * 2, Self.longestPause)
    }

    /// Notices a peer that vanished, and shows a server that waits for the archive that this is still here.
    private func watch() {
        Reactor.after(.seconds(1)) { [weak self] in
            guard let self, continuation != nil else { return }
            if let stream { check(stream) }
            watch()
        }
    }

    private func check(_ stream: HTTPStream) {
        let now = MonotonicTime.now
        if window.awaitsResults || stream.isBodyComplete, now - lastTurn > settings.silence {
            stream.close()
            return ended(.lost)
        }
        guard now - lastSent > settings.keepAlive, status == 200 || status == 0 else { return }
        window.countBlankLine()
        lastSent = now
        [UInt8(ascii: "\n")].withUnsafeBytes { stream.send($0) }
    }
}
