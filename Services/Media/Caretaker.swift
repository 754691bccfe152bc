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
    /// For which a message may still come that is to carry a file.
    nonisolated static let unsentMessage = Duration.seconds(24 * 3600)

    private static let interval = Duration.seconds(5)
    /// Tries of looking into a file, each of which ended with its process.
    private static let attempts: Int16 = 5
    private static let carriersAtOnce: Int64 = 200

    private let writing: Connection
    private let reading: Connection
    private let slots: OwnedSlots
    private let storage: FileStorage
    private let pool: FilePool
    private let readers: Readers
    private let inspections: Inspections
    private let log: Log
    /// Slots that were taken over and not looked through.
    private var acquired: Set<Slot> = []
    private var isRunning = false
    private var isHastened = false
    private(set) var removed = 0

    init(
        _ writing: Connection, _ reading: Connection, slots: OwnedSlots, _ storage: FileStorage, _ pool: FilePool,
        _ readers: Readers, _ inspections: Inspections, log: Log
    ) {
        self.writing = writing
        self.reading = reading
        self.slots = slots
        self.storage = storage
        self.pool = pool
        self.readers = readers
        self.inspections = inspections
        self.log = log
    }

    func start() {
        slots.onAcquired { [weak self] slot in
            self?.acquired.insert(slot)
            self?.hasten()
        }
        Reactor.every(Self.interval) { [weak self] in self?.hasten() }
    }

    /// Something is due.
    func hasten() {
        guard !isRunning else { return isHastened = true }
        isRunning = true
        Reactor.spawn { [self] in
            repeat {
                isHastened = false
                await run()
            } while isHastened
            isRunning = false
        }
    }

    private func run() async {
        do {
            if reading.isUp { try await lookThroughAcquired() }
            while writing.isUp, reading.isUp, try await step() {}
        } catch {
            log.warning("files could not be taken care of", [LogField("reason", "\(error)")])
        }
    }

    /// What was being looked into when the former owner died is not waited for. What else was is due soon.
    private func lookThroughAcquired() async throws {
        guard !acquired.isEmpty else { return }
        let taken = acquired
        acquired = []
        for row in try await reading.query(MediaStatements.processing, { $0.set($1.slots, to: taken) }) {
            inspections.add(row[MediaStatements.processing.columns.id])
        }
    }

    /// - Returns: whether there is more.
    private func step() async throws -> Bool {
        let owned = Slot.all.filter { slots.contains($0) }
        guard !owned.isEmpty else { return false }
        let rows = try await writing.query(MediaStatements.due) { $0.set($1.slots, to: owned) }
        let columns = MediaStatements.due.columns
        for row in rows { try await takeCare(of: MediaObject(row, columns.object), attempts: row[columns.attempts]) }
        return rows.count == Self.rowsPerStep
    }

    private func takeCare(of object: MediaObject, attempts: Int16) async throws {
        switch object.state {
        case .uploading:
            _ = try await writing.query(MediaStatements.expire) { $0.set($1, to: object.id) }
            isHastened = true
        case .processing:
            attempts > Self.attempts ? await inspections.giveUp(object.id) : inspections.add(object.id)
        case .ready, .refused: try await settle(object)
        case .deleted: try await remove(object)
        }
    }

    // MARK: Removing

    /// The bytes first: what is left of them without a row would never be found again but by `media collect`.
    private func remove(_ object: MediaObject) async throws {
        let storage = storage, id = object.id, version = object.version
        let result = await pool.run {
            Result { () throws(FileError) in
                try storage.removeUpload(id)
                if let version { try storage.removeObject(id, version) }
            }
        }
        if case .failure(let error) = result {
            return log.error("a file could not be removed", [LogField("reason", error.description)])
        }
        _ = try await writing.query(MediaStatements.forget) { $0.set($1, to: id) }
        removed += 1
    }

    // MARK: Messages that were to carry a file

    private func settle(_ object: MediaObject) async throws {
        guard try await findCarriers(of: object) else { return }
        _ = try await writing.transaction { batch in
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
            let rows = try await reading.query(MediaStatements.carriers) { parameters, input in
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
                _ = try await writing.query(MediaStatements.carrierFound) { parameters, input in
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
