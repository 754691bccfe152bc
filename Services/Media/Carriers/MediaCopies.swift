import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Gives a user copies of the files of a message that is forwarded. A copy is a file like any other: its user's, charged to them, and
/// gone with their messages. The bytes are not sent anywhere: a directory has them by another name, an object store copies them itself.
@Reactor
final class MediaCopies {
    private let database: MediaDatabase
    private let objects: any ObjectStorage
    private let pool: FilePool
    private let accounts: MediaAccounts
    private let dailyLimit: Int64
    private let erased: ErasedUsers
    private let log: Log

    init(
        _ database: MediaDatabase, _ objects: any ObjectStorage, _ pool: FilePool,
        _ accounts: MediaAccounts, dailyLimit: Int64, _ erased: ErasedUsers, log: Log
    ) {
        self.database = database
        self.objects = objects
        self.pool = pool
        self.accounts = accounts
        self.dailyLimit = dailyLimit
        self.erased = erased
        self.log = log
    }

    /// Creates what is missing of the copies. What cannot be copied, because it is gone or is not carried by that message, is left out;
    /// what there is no room for is a problem, and nothing else.
    func create(_ ids: [MediaID], for request: CopyMedia) async throws(DatabaseError) -> Problem? {
        guard !erased.contains(request.uploader) else { return nil }
        let present = Set(try await present(ids, of: request.uploader))
        let pairs = zip(request.source.media, ids).filter { !present.contains($1) }
        let sources = try await sources(Dictionary(pairs) { first, _ in first }, request)
        guard !sources.isEmpty else { return nil }
        // Files without bytes keep threads busy, too: copies are among what a user may have in progress.
        let account: MediaAccount
        do throws(Problem) { account = try accounts.account(of: request.uploader, streaming: true) } catch {
            return error
        }
        account.begin()
        defer { account.end() }
        // Before the bytes are copied, since what has no row stays until `media collect` finds it.
        let used = try await used(by: request.uploader)
        guard used + sources.reduce(0, { $0 + charge(of: $1) }) <= dailyLimit else { return noRoom }
        let kept: [Source]
        do throws(FileError) {
            kept = try await pool.run { [objects] in
                Result { () throws(FileError) in try objects.keepCopies(sources) }
            }.get()
        } catch {
            log.error("a file could not be copied", [LogField("reason", error.description)])
            return Problem(.unavailable, "the storage of files is not reached at the moment")
        }
        try await note(kept, of: request.uploader)
        let isRoom = Set(try await self.present(ids, of: request.uploader)).isSuperset(of: kept.map(\.copy))
        return isRoom ? nil : noRoom
    }

    private func charge(of source: Source) -> Int64 { DailyUse.bytes(of: source.kept.size, limit: dailyLimit) }

    private var noRoom: Problem { Problem(.rateLimited, "more bytes a day than a user may upload: \(dailyLimit)") }

    private func used(by user: UserID) async throws(DatabaseError) -> Int64 {
        try await database.writing(user.slot).query(MediaStatements.usedToday) { parameters, input in
            parameters.set(input.slot, to: user.slot)
            parameters.set(input.user, to: user)
        }[0][MediaStatements.usedToday.columns.used]
    }

    private func present(_ ids: [MediaID], of user: UserID) async throws(DatabaseError) -> [MediaID] {
        let columns = MediaStatements.attachable.columns
        return try await database.writing(user.slot).query(MediaStatements.attachable) { parameters, input in
            parameters.set(input.slot, to: user.slot)
            parameters.set(input.uploader, to: user)
            parameters.set(input.media, to: ids)
        }.map { $0[columns.id] }
    }

    private func sources(_ copies: [MediaID: MediaID], _ request: CopyMedia) async throws(DatabaseError) -> [Source] {
        // All files of a message have one uploader, so one slot.
        guard let slot = copies.keys.first?.slot else { return [] }
        let columns = MediaStatements.copyable.columns
        return try await database.reading(slot).query(MediaStatements.copyable) { parameters, input in
            parameters.set(input.slot, to: slot)
            parameters.set(input.media, to: Array(copies.keys))
            parameters.set(input.conversation, to: request.sourceConversation)
            parameters.set(input.message, to: request.source.message)
        }.compactMap { row in
            let kept = KeptObject(
                id: row[columns.id], version: row[columns.version], sha256: row[columns.sha256],
                size: row[columns.size], thumbnails: row[columns.thumbnails])
            return copies[kept.id].map { Source(kept: kept, copy: $0, facts: row[columns.facts]) }
        }
    }

    private func note(_ sources: [Source], of user: UserID) async throws(DatabaseError) {
        _ = try await database.writing(user.slot).transaction { batch in
            batch.execute(MediaStatements.lockUsage) { parameters, input in
                parameters.set(input.slot, to: user.slot)
                parameters.set(input.user, to: user)
            }
            for source in sources {
                batch.execute(MediaStatements.createCopy) { parameters, input in
                    parameters.set(input.slot, to: user.slot)
                    parameters.set(input.user, to: user)
                    parameters.set(input.id, to: source.copy)
                    parameters.set(input.facts, to: source.facts)
                    parameters.set(input.charge, to: charge(of: source))
                    parameters.set(input.dailyLimit, to: dailyLimit)
                }
            }
        }
    }
}

/// A file that is to be copied.
private struct Source: Sendable {
    let kept: KeptObject
    let copy: MediaID
    let facts: String
}

extension ObjectStorage {
    /// - Returns: those that are still there.
    fileprivate func keepCopies(_ sources: [Source]) throws(FileError) -> [Source] {
        var kept: [Source] = []
        for source in sources {
            do throws(FileError) {
                try copy(source.kept, to: source.copy)
                kept.append(source)
            } catch {
                guard error.isMissing else { throw error }
            }
        }
        return kept
    }
}

extension CopyMedia {
    /// The ids of the copies, in order. They do not tell what they are copies of, nor that they are copies.
    var copies: [MediaID] {
        source.media.map { media in
            let digest = ContentDigest(.sha256)
            let text = "parley.copy\0\(media)\0\(conversation)\0\(message)\0\(uploader.name)"
            Array(text.utf8).withUnsafeBytes { digest.update($0) }
            return MediaID(UUIDBytes(digest: digest.finish(), version: 4), of: uploader)
        }
    }
}
