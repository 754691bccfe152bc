import Models
import ParleyStorage

/// What to do after a response about a file: the writes in one transaction, before anything else is asked.
package struct UploadStep: Sendable {
    /// Nil for a response that does not matter any more.
    package var upload: Upload?
    package var writes: [UploadWrite] = []
    package var needsFreshToken = false
}

/// Decides what is asked of the server about the files of messages that wait. Without I/O and without a clock; what it
/// keeps may be lost at any time: then the server is asked how much it has.
///
/// An upload is created, appended to piece by piece, and looked at until the server has looked into it. A piece is as
/// large as the network lets be sent within some seconds.
package struct UploadSender: Sendable {
    /// What comes next for an upload.
    private enum Step: Hashable {
        case ask, append, look
    }

    private struct Progress {
        var step = Step.ask
        /// Not before then.
        var due: Duration?
        /// How often it was looked at since it is complete.
        var looks = 0
        /// How often in a row a piece was refused.
        var refusals = 0
    }

    private var inFlight: [Int: (upload: Upload, call: MediaCall, since: Duration)] = [:]
    private var lastId = 0
    private var progress: [Int64: Progress] = [:]
    private var pausedUntil: Duration?
    private var nextLook: Duration?
    private var backoff = Backoff(first: .seconds(1), longest: .seconds(60))
    private var awaitsToken = false
    private var pieceBytes = Self.firstPiece
    private var random: SeededGenerator

    private static let atOnce = 2
    /// How many to look at.
    package static let uploadsToPlan = 20
    package static let firstPiece = 256 * 1024
    private static let smallestPiece = 32 * 1024
    package static let largestPiece = 4 * 1024 * 1024
    /// A piece that took less may be followed by a larger one.
    private static let quick = Duration.seconds(2)
    private static let mostRefusals = 5
    /// A user has uploaded what they may in a day: the message fails instead of waiting silently until tomorrow.
    package static let longestWait = Duration.seconds(600)

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Planning

    /// Whether nothing is asked for the moment because the server could not be reached.
    package var isPaused: Bool { pausedUntil != nil }

    package var wakeAt: Duration? {
        if awaitsToken || inFlight.count >= Self.atOnce { return nil }
        return pausedUntil ?? nextLook
    }

    package mutating func plan(_ uploads: [Upload], at now: Duration) -> [(id: Int, call: MediaCall)] {
        guard !awaitsToken, pausedUntil.map({ $0 <= now }) ?? true else { return [] }
        pausedUntil = nil
        nextLook = nil
        forget(allBut: uploads)
        var planned: [(id: Int, call: MediaCall)] = []
        for upload in uploads where inFlight.count < Self.atOnce && !isInFlight(upload.file.key) {
            if let due = progress[upload.file.key]?.due, due > now {
                nextLook = min(nextLook ?? due, due)
                continue
            }
            guard let call = call(for: upload) else { continue }
            lastId += 1
            inFlight[lastId] = (upload, call, now)
            planned.append((lastId, call))
        }
        return planned
    }

    private func isInFlight(_ key: Int64) -> Bool { inFlight.values.contains { $0.upload.file.key == key } }

    private mutating func forget(allBut uploads: [Upload]) {
        guard !progress.isEmpty else { return }
        let keys = Set(uploads.map(\.file.key))
        progress = progress.filter { keys.contains($0.key) || isInFlight($0.key) }
    }

    /// Nil for what was taken back before the server knew of it.
    private func call(for upload: Upload) -> MediaCall? {
        let file = upload.file
        guard let id = file.mediaId else {
            return upload.isTakenBack
                ? nil : .create(size: file.size, name: file.attachment.name, type: file.attachment.type)
        }
        if upload.isTakenBack { return .terminate(id) }
        let isWhole = file.sentBytes >= file.size
        switch progress[file.key]?.step ?? (isWhole ? .look : .ask) {
        case .ask: return .offset(id)
        case .append where !isWhole:
            let count = min(Int64(pieceBytes), file.size - file.sentBytes)
            return .append(id, file: file.file, from: file.sentBytes, count: Int(count))
        case .append, .look: return .describe(id)
        }
    }

    /// What was taken back before the server knew of it, and is not being created: nothing needs to be asked.
    package func isRemovable(_ upload: Upload) -> Bool {
        upload.isTakenBack && upload.file.mediaId == nil && !isInFlight(upload.file.key)
    }

    /// The network is back.
    package mutating func resume() {
        pausedUntil = nil
        backoff.succeeded()
    }

    package mutating func tokenArrived() { awaitsToken = false }

    // MARK: Responses

    package mutating func handle(
        _ result: Result<MediaResponse, CallFailure>, for id: Int, at now: Duration
    ) -> UploadStep {
        guard let (upload, call, since) = inFlight.removeValue(forKey: id) else { return UploadStep() }
        var step = UploadStep(upload: upload)
        switch result {
        case .success(let response):
            backoff.succeeded()
            if case .append = call, now - since < Self.quick { pieceBytes = min(2 * pieceBytes, Self.largestPiece) }
            take(response, to: call, of: upload.file, now, &step)
        case .failure(let failure) where failure.isUnauthenticated:
            awaitsToken = true
            step.needsFreshToken = true
        case .failure(let failure) where call.isCreation && failure.asksForMore(than: Self.longestWait):
            step.writes.append(.refused(.refusedFile("tooMuch")))
        case .failure(let failure) where failure.isTemporary:
            progress[upload.file.key] = nil
            if case .append = call, failure == .lost { pieceBytes = max(pieceBytes / 2, Self.smallestPiece) }
            pause(at: now, atLeast: failure.retryAfter)
        case .failure(.refused(let problem, _)): take(problem, of: call, upload, now, &step)
        case .failure: break
        }
        return step
    }

    private mutating func take(
        _ response: MediaResponse, to call: MediaCall, of file: OutgoingFile, _ now: Duration,
        _ step: inout UploadStep
    ) {
        switch response {
        case .created(let id):
            progress[file.key] = Progress(step: .append)
            step.writes.append(.created(id))
        case .offset(let bytes, let size) where (0...file.size).contains(bytes) && size ?? file.size == file.size:
            var next = Progress(step: .append)
            if case .offset = call, let earlier = progress[file.key] {
                (next.looks, next.refusals) = (earlier.looks, earlier.refusals)
            }
            progress[file.key] = next
            step.writes.append(.acknowledged(bytes: bytes))
        // What the server keeps of a complete picture has another size.
        case .offset: progress[file.key] = Progress(step: .look)
        case .described(let described): take(described, of: file, now, &step)
        case .done: step.writes.append(.removed)
        case .piece: preconditionFailure("no file is read for an upload")
        }
    }

    private mutating func take(
        _ described: UploadedFile, of file: OutgoingFile, _ now: Duration, _ step: inout UploadStep
    ) {
        switch described.state {
        case .ready: step.writes.append(.ready(described.attachment))
        case .refused:
            step.writes.append(.refused(.refusedFile(described.reason ?? "")))
        case .uploading: lookLater(.ask, file.key, now)
        case .processing, nil: lookLater(.look, file.key, now)
        }
    }

    /// Less often each time.
    private mutating func lookLater(_ step: Step, _ key: Int64, _ now: Duration) {
        var later = progress[key] ?? Progress()
        let due = now + min(.seconds(5), .milliseconds(100) * (1 << min(later.looks, 6)))
        (later.step, later.due) = (step, due)
        later.looks += 1
        progress[key] = later
        nextLook = min(nextLook ?? due, due)
    }

    /// A refusal that repeating does not change.
    private mutating func take(
        _ problem: ProblemDetails, of call: MediaCall, _ upload: Upload, _ now: Duration, _ step: inout UploadStep
    ) {
        let key = upload.file.key
        switch call {
        case .create:
            step.writes.append(.refused(problem.code == .known(.tooLarge) ? .refusedFile("tooLarge") : problem))
        // It has ended, or a message carries it: then it is not to be removed.
        case .terminate: step.writes.append(.removed)
        // Only a response that says why is believed.
        case .offset: progress[key] = Progress(step: .look, refusals: progress[key]?.refusals ?? 0)
        case .describe:
            progress[key] = nil
            step.writes.append(.lost)
            pause(at: now)
        case .append:
            let refusals = (progress[key]?.refusals ?? 0) + 1
            progress[key] = Progress(step: .ask, refusals: refusals)
            if refusals >= Self.mostRefusals { step.writes.append(.refused(problem)) } else { pause(at: now) }
        case .read: preconditionFailure("no file is read for an upload")
        }
    }

    private mutating func pause(at now: Duration, atLeast asked: Duration? = nil) {
        pausedUntil = now + backoff.pause(atLeast: asked, using: &random)
    }
}

extension MediaCall {
    fileprivate var isCreation: Bool { if case .create = self { true } else { false } }
}

extension ProblemDetails {
    /// The server does not accept a file. The code is this client's own; the detail is the reason as the contract names it
    /// for a file that was looked into, and `tooMuch` for one too many in a day.
    package static func refusedFile(_ reason: String) -> ProblemDetails {
        ProblemDetails(title: "A file was refused", status: 422, code: Open("mediaRefused"), detail: reason)
    }
}

extension CallFailure {
    /// Whether a server that has a limit asks to wait for so long. That of a suspension is none.
    fileprivate func asksForMore(than wait: Duration) -> Bool {
        guard case .refused(let problem, let retryAfter?) = self, problem.code != .known(.suspended) else {
            return false
        }
        return retryAfter > wait
    }
}
