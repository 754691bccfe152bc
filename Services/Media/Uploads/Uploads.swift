import Edge
import Models
import Postgres
import Reactor
import ServiceKit

/// Uploads as the database has them.
@Reactor
final class Uploads {
    private let database: MediaDatabase
    private let limits: UploadLimits
    private let log: Log
    private var random = SystemRandomNumberGenerator()

    init(_ database: MediaDatabase, _ limits: UploadLimits, log: Log) {
        self.database = database
        self.limits = limits
        self.log = log
    }

    /// An upload that one request may write.
    struct Claim: Sendable {
        let id: MediaID
        let offset: Int64
        let size: Int64
        let expiresAt: Timestamp
        let number: Int64
    }

    private func newNumber() -> Int64 { Int64.random(in: 1...Int64.max, using: &random) }

    /// Throws a reply if the database fails, which is logged.
    func reaching<Value>(
        _ body: @Reactor () async throws(DatabaseError) -> Value
    ) async throws(Reply) -> Value {
        do {
            return try await body()
        } catch {
            log.warning("request failed", [LogField("reason", error.debugDescription)])
            throw .unavailable
        }
    }

    func create(of user: UserID, size: Int64, _ metadata: UploadMetadata) async throws(Reply) -> Claim {
        let id = MediaID.random(of: user), number = newNumber()
        let results = try await reaching { () async throws(DatabaseError) in
            try await database.writing(id.slot).transaction { batch in
                batch.execute(MediaStatements.lockUsage) { parameters, input in
                    parameters.set(input.slot, to: user.slot)
                    parameters.set(input.user, to: user)
                }
                batch.execute(MediaStatements.create) { parameters, input in
                    set(&parameters, input, id, user, size, metadata, number)
                }
            }
        }
        let row = results[1][0], columns = MediaStatements.create.columns
        guard let expiresAt = row[columns.expiresAt] else {
            throw refusal(
                unfinished: row[columns.unfinished], used: row[columns.used], size,
                secondsOfDay: row[columns.secondsOfDay])
        }
        return Claim(id: id, offset: 0, size: size, expiresAt: expiresAt, number: number)
    }

    private func set(
        _ parameters: inout Parameters, _ input: MediaStatements.CreateInput, _ id: MediaID, _ user: UserID,
        _ size: Int64, _ metadata: UploadMetadata, _ number: Int64
    ) {
        parameters.set(input.slot, to: id.slot)
        parameters.set(input.user, to: user)
        parameters.set(input.id, to: id)
        parameters.set(input.name, to: metadata.name)
        parameters.set(input.metadata, to: metadata.text)
        parameters.set(input.size, to: size)
        parameters.set(input.charge, to: DailyUse.bytes(of: size, limit: limits.bytesPerDay))
        parameters.set(input.claim, to: number)
        parameters.set(input.unfinishedLimit, to: limits.unfinished)
        parameters.set(input.dailyLimit, to: limits.bytesPerDay)
        parameters.set(input.lifetimeSeconds, to: ContractLimits.uploadLifetime.components.seconds)
    }

    private func refusal(unfinished: Int64, used: Int64, _ size: Int64, secondsOfDay: Int64) -> Reply {
        guard unfinished < limits.unfinished else {
            return Reply(Problem(.rateLimited, "more unfinished uploads than a user may have: \(limits.unfinished)"))
        }
        let detail = "more bytes a day than a user may upload: \(limits.bytesPerDay), of which \(used) are used"
        var reply = Reply(Problem(.rateLimited, detail))
        reply.headers = [.retryAfter(seconds: Int(secondsOfDay))]
        return reply
    }

    /// Takes an upload over, to be written from `offset` on.
    /// - Parameter number: of an earlier claim, to find out whether it still holds.
    func claim(
        _ id: MediaID, of user: UserID, at offset: Int64, again number: Int64? = nil
    ) async throws(Reply) -> Claim {
        let number = number ?? newNumber()
        let rows = try await reaching { () async throws(DatabaseError) in
            try await database.writing(id.slot).query(MediaStatements.claim) { parameters, input in
                parameters.set(input.slot, to: id.slot)
                parameters.set(input.id, to: id)
                parameters.set(input.user, to: user)
                parameters.set(input.offset, to: offset)
                parameters.set(input.claim, to: number)
            }
        }
        let columns = MediaStatements.claim.columns
        guard let row = rows.first else { throw .notFound }
        guard row[columns.isClaimed] else {
            let received = row[columns.received]
            let headers = [ResponseHeader("Upload-Offset", "\(received)")]
            guard row[columns.state] == .uploading else {
                throw Reply(Problem(.conflict, "the upload is complete"), headers: headers)
            }
            throw Reply(Problem(.conflict, "Upload-Offset: the upload is at \(received)"), headers: headers)
        }
        return Claim(
            id: id, offset: offset, size: row[columns.size], expiresAt: row[columns.expiresAt], number: number)
    }

    /// Notes that an upload is on the disk up to `offset`.
    func advance(
        _ claim: Claim, to offset: Int64, sha256: String?
    ) async -> Result<Void, UploadFailure> {
        do {
            let rows = try await database.writing(claim.id.slot).query(MediaStatements.advance) { parameters, input in
                parameters.set(input.slot, to: claim.id.slot)
                parameters.set(input.id, to: claim.id)
                parameters.set(input.claim, to: claim.number)
                parameters.set(input.received, to: offset)
                parameters.set(input.sha256, to: sha256)
            }
            return rows.isEmpty ? .failure(.takenOver) : .success(())
        } catch {
            log.warning("an upload could not be noted", [LogField("reason", error.debugDescription)])
            return .failure(.databaseUnavailable)
        }
    }

    /// Hides a file of its uploader that no message may carry.
    func terminate(_ id: MediaID, of user: UserID) async throws(Reply) {
        let rows = try await reaching { () async throws(DatabaseError) in
            try await database.writing(id.slot).query(MediaStatements.terminate) { parameters, input in
                parameters.set(input.slot, to: id.slot)
                parameters.set(input.id, to: id)
                parameters.set(input.user, to: user)
            }
        }
        guard let row = rows.first else { throw .notFound }
        guard row[MediaStatements.terminate.columns.isHidden] else {
            throw Reply(Problem(.conflict, "a message may carry the file"))
        }
    }
}
