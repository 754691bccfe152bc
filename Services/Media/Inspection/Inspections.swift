import Glibc
import Models
import Postgres
import Reactor
import ServiceKit

/// Looks into complete uploads, some at a time, and keeps what comes of it.
///
/// What is not finished, because this process ends, or a disk, the database or another server is away, `Caretaker` finds
/// again.
@Reactor
final class Inspections {
    /// Files that wait. Further ones are found again later.
    private static let capacity = 10_000
    /// Tries of looking into a file, each of which ended with its process or failed for what may be due to the file.
    private static let attempts: Int16 = 5
    /// For which nothing is begun after a file could not be looked into or kept for reasons that are not its own.
    private static let rest = Duration.seconds(2)
    /// How often it is said of a file that it is being looked into: more often than it becomes due.
    private static let sign = Duration.seconds(40)

    private let configuration: InspectorConfiguration?
    private let inspectors: Inspectors?
    private let scanner: VirusScanner?
    private let storage: FileStorage
    private let objects: any ObjectStorage
    private let pool: FilePool
    /// For objects.
    private let objectPool: FilePool
    /// For the scanner.
    private let scanPool: FilePool?
    private let database: MediaDatabase
    private let unsent: Duration
    private let metrics: MediaMetrics
    private let log: Log
    private var waiting = FIFO<MediaID>()
    /// Those that wait and those that are looked into.
    private var known: Set<MediaID> = []
    private var running: Set<MediaID> = []
    private var isResting = false
    private var isEnding = false
    private(set) var postponed = 0

    init(
        _ configuration: InspectorConfiguration?, _ scanner: VirusScanner?, _ storage: MediaStorage, _ pool: FilePool,
        objectPool: FilePool, _ database: MediaDatabase, unsent: Duration, _ metrics: MediaMetrics, log: Log
    ) {
        self.configuration = configuration
        inspectors = configuration.map { Inspectors($0, log: log) }
        self.scanner = scanner
        self.storage = storage.uploads
        objects = storage.objects
        self.pool = pool
        self.objectPool = objectPool
        scanPool = scanner.map { _ in FilePool(threads: configuration?.atOnce ?? Self.atOnce) }
        self.database = database
        self.unsent = unsent
        self.metrics = metrics
        self.log = log
    }

    /// Without an inspector.
    private static let atOnce = 4

    var count: Int { known.count }

    func start() {
        Reactor.every(Self.sign) { [weak self] in
            for id in self?.running ?? [] { self?.note(MediaStatements.continueInspection, of: id) }
        }
    }

    func add(_ id: MediaID) {
        guard !isEnding, known.count < Self.capacity, known.insert(id).inserted else { return }
        waiting.append(id)
        begin()
    }

    /// Begins no further one, and waits for those that have begun.
    func finish() async {
        isEnding = true
        // If this process is ended meanwhile, that is no fault of theirs, and somebody else goes on soon.
        for id in running { note(MediaStatements.postpone, of: id) }
        while !running.isEmpty { await Reactor.sleep(for: .milliseconds(5)) }
    }

    private func begin() {
        while !isEnding, !isResting, running.count < configuration?.atOnce ?? Self.atOnce, let id = waiting.popFirst() {
            running.insert(id)
            Reactor.spawn { [self] in
                await inspect(id)
                running.remove(id)
                known.remove(id)
                begin()
            }
        }
    }

    /// What keeps one file from being kept probably keeps others as well.
    private func postpone(_ id: MediaID) {
        postponed += 1
        note(MediaStatements.postpone, of: id)
        guard !isResting else { return }
        isResting = true
        Reactor.after(Self.rest) { [self] in
            isResting = false
            begin()
        }
    }

    /// If that fails, the file is due a little earlier or later.
    private func note(_ statement: PreparedStatement<MediaStatements.ObjectInput, NoFields>, of id: MediaID) {
        Reactor.spawn { [database] in _ = try? await database.writing(id.slot).query(statement) { $0.set($1, to: id) } }
    }

    // MARK: One file

    /// What becomes of a file.
    fileprivate enum Verdict {
        case refused(String)
        /// - Parameter sha256: nil for the bytes of the upload itself.
        case ready(version: Int64, type: String, ContentFacts, sha256: String?, size: Int64?)
    }

    private func inspect(_ id: MediaID) async {
        guard let attempts = await begun(id) else { return }
        // Refuses a file that was tried too often.
        guard attempts <= Self.attempts else { return await finish(id, .refused("unreadable")) }
        let begun = MonotonicTime.now, storage = storage
        let version = Int64.random(in: 1...Int64.max)
        let result = await pool.run { Result { () throws(FileError) in try storage.openComplete(id) } }
        do throws(FileError) {
            let file = try result.get()
            let verdict =
                if let refusal = try await scan(file) { Verdict.refused(refusal) } else {
                    try await verdict(on: id, file, version)
                }
            metrics.inspected(verdict.refusal, after: .now - begun)
            await finish(id, verdict)
        } catch {
            log.warning("a file could not be looked into or kept", [LogField("reason", error.description)])
            if !error.isOfFile { postpone(id) }
        }
    }

    /// - Returns: which try this is; nil if there is nothing to be done, or the database fails.
    private func begun(_ id: MediaID) async -> Int16? {
        do throws(DatabaseError) {
            let rows = try await database.writing(id.slot).query(MediaStatements.beginInspection) { $0.set($1, to: id) }
            return rows.first.map { $0[MediaStatements.beginInspection.columns.attempts] }
        } catch {
            log.warning("a file could not be looked into", [LogField("reason", error.debugDescription)])
            return nil
        }
    }

    /// - Returns: why the file is refused. What could not be scanned is an error: it does not pass.
    private func scan(_ file: OpenFile) async throws(FileError) -> String? {
        guard let scanner, let scanPool else { return nil }
        let result = await scanPool.run { Result { () throws(FileError) in try scanner.scan(file) } }
        metrics.scanned(try? result.get())
        switch try result.get() {
        case .clean: return nil
        case .infected: return "infected"
        case .tooLarge:
            log.warning("clamd scans no such file: see StreamMaxLength and the other limits of its configuration", [])
            return "tooLarge"
        case .failed: preconditionFailure("a failure is thrown")
        }
    }

    private func verdict(
        on id: MediaID, _ file: OpenFile, _ version: Int64, tries: Int = 3
    ) async throws(FileError) -> Verdict {
        guard let configuration, let inspectors else {
            try await keepUpload(id, version)
            return .ready(version: version, type: MediaType.unknown, ContentFacts(), sha256: nil, size: nil)
        }
        guard let process = inspectors.start(reading: file) else {
            throw FileError(server: "media-inspector", EAGAIN, "no process could be started")
        }
        let output = InspectionOutput(
            id, version, objects, pool, objectPool: objectPool, contentBytes: configuration.contentBytes)
        do throws(FileError) {
            if let verdict = try await verdict(on: id, process, output, version) { return verdict }
        } catch {
            // Each try would leave as much again. What the store cannot be told of now, `media collect` finds.
            try? await output.discard()
            throw error
        }
        guard tries > 1 else { throw FileError(server: "media-inspector", ECANCELED, "it was interrupted") }
        return try await verdict(on: id, file, version, tries: tries - 1)
    }

    /// Nil if the process was interrupted.
    private func verdict(
        on id: MediaID, _ process: InspectorProcess, _ output: InspectionOutput, _ version: Int64
    ) async throws(FileError) -> Verdict? {
        switch try await read(process, into: output) {
        case .complete: break
        case .refused(let reason): return try await refuse(output, reason)
        case .interrupted:
            try await output.discard()
            return nil
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
        let objects = objects
        try await objectPool.run {
            Result { () throws(FileError) in try objects.keepUpload(id, as: version) }
        }.get()
    }

    // MARK: The database

    private func finish(_ id: MediaID, _ verdict: Verdict) async {
        do throws(DatabaseError) {
            let rows = try await database.writing(id.slot).query(MediaStatements.finishInspection) {
                parameters, input in
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
        let storage = storage, objects = objects
        let result = await objectPool.run {
            Result { () throws(FileError) in
                if upload { try storage.removeUpload(id) }
                if let version { try objects.removeObject(id, version) }
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
