import Glibc
import Models
import Postgres
import Reactor
import ServiceKit

/// Looks into complete uploads, some at a time, and keeps what comes of it.
///
/// What is not finished, because this process ends or the database is away, `Caretaker` finds again.
@Reactor
final class Inspections {
    /// Files that wait. Further ones are found again later.
    private static let capacity = 10_000

    private let configuration: InspectorConfiguration?
    private let inspectors: Inspectors?
    private let storage: FileStorage
    private let pool: FilePool
    private let writing: Connection
    private let unsent: Duration
    private let metrics: MediaMetrics
    private let log: Log
    private var waiting = FIFO<MediaID>()
    /// Those that wait and those that are looked into.
    private var known: Set<MediaID> = []
    private var running = 0
    private var isEnding = false

    init(
        _ configuration: InspectorConfiguration?, _ storage: FileStorage, _ pool: FilePool, _ writing: Connection,
        unsent: Duration, _ metrics: MediaMetrics, log: Log
    ) {
        self.configuration = configuration
        inspectors = configuration.map { Inspectors($0, log: log) }
        self.storage = storage
        self.pool = pool
        self.writing = writing
        self.unsent = unsent
        self.metrics = metrics
        self.log = log
    }

    var count: Int { known.count }

    func add(_ id: MediaID) {
        guard !isEnding, known.count < Self.capacity, known.insert(id).inserted else { return }
        waiting.append(id)
        begin()
    }

    /// Begins no further one, and waits for those that have begun.
    func finish() async {
        isEnding = true
        while running > 0 { await Reactor.sleep(for: .milliseconds(5)) }
    }

    private func begin() {
        while !isEnding, running < configuration?.atOnce ?? 4, let id = waiting.popFirst() {
            running += 1
            Reactor.spawn { [self] in
                await inspect(id)
                running -= 1
                known.remove(id)
                begin()
            }
        }
    }

    /// Refuses a file that was tried too often.
    func giveUp(_ id: MediaID) async { await finish(id, .refused("unreadable")) }

    // MARK: One file

    /// What becomes of a file.
    fileprivate enum Verdict {
        case refused(String)
        /// - Parameter sha256: nil for the bytes of the upload itself.
        case ready(version: Int64, type: String, ContentFacts, sha256: String?, size: Int64?)
    }

    private func inspect(_ id: MediaID) async {
        let begun = MonotonicTime.now, storage = storage
        let version = Int64.random(in: 1...Int64.max)
        let result = await pool.run { Result { () throws(FileError) in try storage.openComplete(id) } }
        do throws(FileError) {
            let verdict = try await verdict(on: id, try result.get(), version)
            metrics.inspected(verdict.refusal, after: .now - begun)
            await finish(id, verdict)
        } catch {
            log.warning("a file could not be looked into", [LogField("reason", error.description)])
        }
    }

    private func verdict(
        on id: MediaID, _ file: OpenFile, _ version: Int64, tries: Int = 3
    ) async throws(FileError) -> Verdict {
        guard let configuration, let inspectors else {
            try await keepUpload(id, version)
            return .ready(version: version, type: MediaType.unknown, ContentFacts(), sha256: nil, size: nil)
        }
        guard let process = inspectors.start(reading: file) else { throw FileError("media-inspector") }
        let output = InspectionOutput(id, version, storage, pool, contentBytes: configuration.contentBytes)
        switch try await read(process, into: output) {
        case .complete: break
        case .refused(let reason): return try await refuse(output, reason)
        case .interrupted:
            try await output.discard()
            guard tries > 1 else { throw FileError("media-inspector", ECANCELED) }
            return try await verdict(on: id, file, version, tries: tries - 1)
        }
        guard let facts = output.facts else { return try await refuse(output, "unreadable") }
        guard facts.isReady else { return try await refuse(output, facts.reason ?? "unreadable") }
        try await output.finish()
        if output.sha256 == nil { try await keepUpload(id, version) }
        var content = facts.content
        content.thumbnails = InspectedFacts.json(facts.thumbnails.filter { output.parts.contains($0.part) })
        return .ready(
            version: version, type: facts.type ?? MediaType.unknown, content, sha256: output.sha256,
            size: output.contentSize)
    }

    private enum Reading {
        case complete
        case refused(String)
        /// By what has nothing to do with the file.
        case interrupted
    }

    /// Passes on what the process writes, and ends it.
    private func read(_ process: InspectorProcess, into output: InspectionOutput) async throws(FileError) -> Reading {
        defer { process.end() }
        let begun = MonotonicTime.now
        while true {
            switch await process.next() {
            case .late: return .refused("tooSlow")
            case .interrupted: return .interrupted
            case .end: return .refused(isSlow(.now - begun) ? "tooSlow" : "unreadable")
            case .bytes(let bytes):
                if let reason = try await output.take(bytes) { return .refused(reason) }
                if output.isComplete { return .complete }
            }
        }
    }

    /// Whether a process that ended after so long was ended for the processor time it took. At most two of its threads
    /// compute at a time.
    private func isSlow(_ time: Duration) -> Bool { time >= (configuration?.processorTime ?? .zero) / 2 }

    private func refuse(_ output: InspectionOutput, _ reason: String) async throws(FileError) -> Verdict {
        try await output.discard()
        return .refused(reason)
    }

    private func keepUpload(_ id: MediaID, _ version: Int64) async throws(FileError) {
        let storage = storage
        try await pool.run {
            Result { () throws(FileError) in try storage.keepUpload(id, as: version) }
        }.get()
    }

    // MARK: The database

    private func finish(_ id: MediaID, _ verdict: Verdict) async {
        do throws(DatabaseError) {
            let rows = try await writing.query(MediaStatements.finishInspection) { parameters, input in
                parameters.set(input.slot, to: id.slot)
                parameters.set(input.id, to: id)
                parameters.set(input.unsentSeconds, to: unsent.components.seconds)
                verdict.set(&parameters, input)
            }
            // Somebody else was faster, or the file is gone. Otherwise the upload is kept, or not wanted.
            await remove(id, rows.isEmpty ? verdict.version : nil, upload: !rows.isEmpty)
        } catch {
            log.warning("what a file is could not be noted", [LogField("reason", error.debugDescription)])
        }
    }

    private func remove(_ id: MediaID, _ version: Int64?, upload: Bool) async {
        let storage = storage
        let result = await pool.run {
            Result { () throws(FileError) in
                if upload { try storage.removeUpload(id) }
                if let version { try storage.removeObject(id, version) }
            }
        }
        if case .failure(let error) = result {
            log.warning("a file could not be removed", [LogField("reason", error.description)])
        }
    }
}

extension Inspections.Verdict {
    fileprivate var refusal: String? { if case .refused(let reason) = self { reason } else { nil } }
    fileprivate var version: Int64? { if case .ready(let version, _, _, _, _) = self { version } else { nil } }

    fileprivate func set(_ parameters: inout Parameters, _ input: MediaStatements.InspectionInput) {
        var type: String?, facts = ContentFacts(), sha256: String?, size: Int64?
        if case .ready(_, let found, let content, let digest, let count) = self {
            (type, facts, sha256, size) = (found, content, digest, count)
        }
        parameters.set(input.isReady, to: refusal == nil)
        parameters.set(input.version, to: version)
        parameters.set(input.type, to: type)
        parameters.set(input.sha256, to: sha256)
        parameters.set(input.size, to: size)
        parameters.set(input.reason, to: refusal)
        parameters.set(input.width, to: facts.width)
        parameters.set(input.height, to: facts.height)
        parameters.set(input.durationMs, to: facts.durationMilliseconds)
        parameters.set(input.thumbhash, to: facts.thumbhash)
        parameters.set(input.waveform, to: facts.waveform)
        parameters.set(input.thumbnails, to: facts.thumbnails)
    }
}
