import Archives
import CommandSupport
import Foundation
import Models
import ParleyPresentation
import Reactor

/// `parley import chatdb … --follow`: imports a copy of the file, then follows the file itself.
@Reactor
final class FollowRun {
    struct Settings: Sendable {
        let path: String
        let me: UserID
        let connection: ConnectionArguments
        var upload: ImportUpload.Settings
        let directory: URL
    }

    struct Report {
        let table: String
        let json: String
        /// Why it ended, if nobody asked for it.
        let reason: String?
        let status: Int32
    }

    private let settings: Settings
    private let showsProgress: Bool
    private var upload: ImportUpload?
    private var follow: Follow?
    private var isStopping = false
    private var lock: CInt = -1

    private static let interval = Duration.milliseconds(500)

    init(_ settings: Settings, showsProgress: Bool) {
        self.settings = settings
        self.showsProgress = showsProgress
    }

    /// The second time, whoever asks wants no more waiting. What is done is noted.
    func interrupt() {
        if isStopping { exit(ImportCommand.unfinished) }
        isStopping = true
        upload?.stop()
        follow?.stop()
    }

    func run() async throws -> Report {
        // The copy and the state are of what others wrote to this user.
        umask(0o077)
        try FileManager.default.createDirectory(at: settings.directory, withIntermediateDirectories: true)
        try takeLock()
        let follower = try ChatFollower(
            path: settings.path, me: settings.me, directory: settings.directory.path, clock: { Timestamp.now })
        if let archive = try await follower.archive(), let end = try await bring(archive, follower) { return end }
        return try await follow(follower)
    }

    /// Two that follow for one user would do everything twice.
    private func takeLock() throws {
        let path = settings.directory.appendingPathComponent("lock").path
        lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw ArchiveError("\(path) cannot be written: \(String(cString: strerror(errno)))") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            throw ArchiveError("another parley follows for \(settings.me) already (\(path))")
        }
    }

    // MARK: The import

    /// Returns the report if that is the end.
    private func bring(_ archive: ChatArchive, _ follower: ChatFollower) async throws -> Report? {
        var uploading = settings.upload
        uploading.leavesLaterRows = true
        let upload = ImportUpload(archive, to: settings.connection, settings: uploading)
        self.upload = upload
        if isStopping { upload.stop() }
        let progress = showsProgress ? ImportProgress(of: upload) : nil
        let outcome = await upload.run()
        progress?.stop()
        self.upload = nil
        guard case .complete(.success(let report)) = outcome else { return try failure(outcome, upload.tally) }
        let summary = ImportSummary(report, upload.tally, isComplete: true)
        guard summary.isFaultless || uploading.opensDespiteRefusals else {
            return Report(
                table: summary.table, json: try summary.json,
                reason: "not followed, because something was refused; --open follows nevertheless", status: 1)
        }
        Terminal.say(summary.table)
        try await follower.noteImported(laterRows: upload.laterRows)
        return nil
    }

    private func failure(_ outcome: ImportUpload.Outcome, _ tally: ImportTally) throws -> Report {
        let summary = ImportSummary(nil, tally, isComplete: false)
        let (reason, status): (String, Int32) =
            switch outcome {
            case .complete(.failure(let error)): ("\(error)", 1)
            case .failed(let reason): ("the system refuses the import: \(reason)", 1)
            case .unfinished(let reason):
                ("not finished, the same command continues: \(reason)", ImportCommand.unfinished)
            case .complete(.success): ("", 0)
            }
        return Report(table: summary.table, json: try summary.json, reason: reason, status: status)
    }

    // MARK: What comes after

    private func follow(_ follower: ChatFollower) async throws -> Report {
        let sender = LiveSender(settings.connection, me: settings.me, patience: settings.upload.patience)
        let follow = Follow(follower, sender, patience: settings.upload.patience)
        self.follow = follow
        if isStopping { follow.stop() }
        Terminal.tell("parley: following \(settings.path)")
        if showsProgress { show(follow) }
        let end = await follow.run()
        self.follow = nil
        if showsProgress { Terminal.replaceLine("") }
        let summary = FollowSummary(await follower.report, sender.counts, follow.refusals)
        guard case .unfinished(let reason) = end else {
            return Report(table: summary.table, json: try summary.json, reason: nil, status: 0)
        }
        return Report(
            table: summary.table, json: try summary.json,
            reason: "not finished, the same command continues: \(reason)", status: ImportCommand.unfinished)
    }

    private func show(_ follow: Follow) {
        Reactor.after(Self.interval) { [weak self] in
            guard let self, self.follow === follow else { return }
            let done = follow.sender.counts.values.reduce(0, +)
            let refused = follow.refusals.count == 0 ? "" : "   refused \(grouped(follow.refusals.count))"
            let state = follow.trouble.map { "   waiting: \(HarmlessText.line($0, limit: 80))" } ?? ""
            Terminal.replaceLine("following: \(grouped(done)) carried out\(refused)\(state)")
            show(follow)
        }
    }
}
