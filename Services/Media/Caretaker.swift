import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Does in the owned slots what is due: ends uploads whose time has passed, looks again into files that nobody finished,
/// asks whether messages were sent, and removes what is hidden.
@Reactor
final class Caretaker {
    /// Files looked at in one round trip.
    nonisolated static let rowsPerStep = 200
    /// After which somebody looks again at what was begun: longer than looking into a file takes.
    nonisolated static let patience = Duration.seconds(120)
    /// After which is tried again what could not be done for reasons that are not the file's.
    nonisolated static let retryDelay = Duration.seconds(10)
    /// For which a message may still come that is to carry a file.
    nonisolated static let unsentMessage = Duration.seconds(24 * 3600)

    /// Files that are counted among those that wait.
    nonisolated static let backlogRows = 100_000

    private static let interval = Duration.seconds(5)
    private static let carriersAtOnce: Int64 = 200

    private let database: MediaDatabase
    private let slots: OwnedSlots
    private let storage: MediaStorage
    private let objectPool: FilePool
    private let readers: Readers
    private let inspections: Inspections
    private let log: Log
    /// Slots that were taken over and not looked through.
    private var acquired: Set<Slot> = []
    private var isRunning = false
    private var wasWoken = false
    private(set) var removed = 0
    /// What could not be removed since this was last said, and the last reason.
    private var unremoved: (count: Int, reason: String) = (0, "")
    /// Complete uploads of all slots that are not looked into and kept yet, and their bytes.
    private(set) var backlog: (files: Int64, bytes: Int64) = (0, 0)

    init(
        _ database: MediaDatabase, slots: OwnedSlots, _ storage: MediaStorage,
        objectPool: FilePool, _ readers: Readers, _ inspections: Inspections, log: Log
    ) {
        self.database = database
        self.slots = slots
        self.storage = storage
        self.objectPool = objectPool
        self.readers = readers
        self.inspections = inspections
        self.log = log
    }

    func start() {
        slots.onAcquired { [weak self] slot in
            self?.acquired.insert(slot)
            self?.wake()
        }
        Reactor.every(Self.interval) { [weak self] in
            self?.wake()
            Reactor.spawn { [weak self] in await self?.measureBacklog() }
        }
    }

    /// Something is due.
    func wake() {
        guard !isRunning else { return wasWoken = true }
        isRunning = true
        Reactor.spawn { [self] in
            repeat {
                wasWoken = false
                await run()
            } while wasWoken
            isRunning = false
        }
    }

    /// What it was stays where the database is not reached.
    private func measureBacklog() async {
        let columns = MediaStatements.backlog.columns
        var sum: (files: Int64, bytes: Int64) = (0, 0)
        for part in database.parts {
            let rows = try? await part.reading.query(MediaStatements.backlog) { $0.set($1.slots, to: part.slots) }
            guard let row = rows?.first else { return }
            sum = (sum.files + row[columns.files], sum.bytes + row[columns.bytes])
        }
        backlog = sum
    }

    private func run() async {
        for part in database.parts where part.isUp {
            do {
                try await lookThroughAcquired(part)
                while part.isUp, try await step(part) {}
            } catch {
                log.warning("files could not be taken care of", [LogField("reason", "\(error)")])
            }
        }
        guard unremoved.count > 0 else { return }
        log.error(
            "files could not be removed", [LogField("count", unremoved.count), LogField("reason", unremoved.reason)])
        unremoved = (0, "")
    }

    /// What was being looked into when the former owner died is not waited for. What else was is due soon.
    private func lookThroughAcquired(_ part: MediaDatabase.Part) async throws {
        let taken = acquired.intersection(part.slots)
        guard !taken.isEmpty else { return }
        acquired.subtract(taken)
        do {
            for row in try await part.reading.query(MediaStatements.processing, { $0.set($1.slots, to: taken) }) {
                inspections.add(row[MediaStatements.processing.columns.id])
            }
        } catch {
            // A shard that has just moved, for one, is reached in a moment.
            acquired.formUnion(taken)
            throw error
        }
    }

    /// - Returns: whether there is more.
    private func step(_ part: MediaDatabase.Part) async throws -> Bool {
        let owned = part.slots.filter { slots.contains($0) }
        guard !owned.isEmpty else { return false }
        let rows = try await part.writing.query(MediaStatements.due) { $0.set($1.slots, to: owned) }
        let columns = MediaStatements.due.columns
        for row in rows { try await takeCare(of: MediaObject(row, columns)) }
        return rows.count == Self.rowsPerStep
    }

    private func takeCare(of object: MediaObject) async throws {
        switch object.state {
        case .uploading:
            _ = try await database.writing(object.id.slot).query(MediaStatements.expire) { $0.set($1, to: object.id) }
            wasWoken = true
        case .processing: inspections.add(object.id)
        case .ready, .refused: try await settle(object)
        case .deleted: try await remove(object)
        }
    }

    // MARK: Removing

    /// The bytes first: what is left of them without a row would never be found again but by `media collect`.
    private func remove(_ object: MediaObject) async throws {
        let storage = storage, id = object.id, version = object.version
        let result = await objectPool.run {
            Result { () throws(FileError) in
                try storage.uploads.removeUpload(id)
                try storage.objects.removeAll(id, version)
            }
        }
        if case .failure(let error) = result {
            unremoved = (unremoved.count + 1, error.description)
            _ = try await database.writing(id.slot).query(MediaStatements.postpone) { $0.set($1, to: id) }
            return
        }
        _ = try await database.writing(id.slot).query(MediaStatements.forget) { $0.set($1, to: id) }
        removed += 1
    }

    // MARK: Messages that were to carry a file

    private func settle(_ object: MediaObject) async throws {
        guard try await findCarriers(of: object) else { return }
        _ = try await database.writing(object.id.slot).transaction { batch in
            batch.execute(MediaStatements.lockObjects) { parameters, input in
                parameters.set(input.slot, to: object.id.slot)
                parameters.set(input.media, to: [object.id])
            }
            batch.execute(MediaStatements.settle) { $0.set($1, to: object.id) }
        }
        readers.forget(object.id)
    }

    /// Asks about each message that is not known to carry the file.
    /// - Returns: whether all were found out.
    private func findCarriers(of object: MediaObject) async throws -> Bool {
        let columns = MediaStatements.carriers.columns
        var offset: Int64 = 0
        while true {
            let rows = try await database.reading(object.id.slot).query(MediaStatements.carriers) { parameters, input in
                parameters.set(input.slot, to: object.id.slot)
                parameters.set(input.id, to: object.id)
                parameters.set(input.limit, to: Self.carriersAtOnce)
                parameters.set(input.offset, to: offset)
            }
            for row in rows where !row[columns.isSent] {
                let conversation = row[columns.conversationId], message = row[columns.messageId]
                let query = MayReadAttachment(
                    object.id, of: message, by: object.uploader, in: conversation, reader: nil)
                guard let isSent = await readers.ask(query) else { return false }
                _ = try await database.writing(object.id.slot).query(MediaStatements.carrierFound) {
                    parameters, input in
                    parameters.set(input.slot, to: object.id.slot)
                    parameters.set(input.id, to: object.id)
                    parameters.set(input.conversation, to: conversation)
                    parameters.set(input.message, to: message)
                    parameters.set(input.isSent, to: isSent)
                }
            }
            guard Int64(rows.count) == Self.carriersAtOnce else { return true }
            // Those that were removed meanwhile make it skip some, which are found the next time.
            offset += Self.carriersAtOnce
        }
    }
}
