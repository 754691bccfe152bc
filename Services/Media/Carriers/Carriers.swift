import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Wire

/// Which messages carry which files: what ingest and store say about it.
@Reactor
final class Carriers {
    /// Called with files that nobody sees any more.
    var onHidden: @Reactor ([MediaID]) -> Void = { _ in }

    private static let limit = 1_024

    private let database: MediaDatabase
    private let copies: MediaCopies
    private let bus: Bus
    private let log: Log
    private var inFlight = 0

    init(_ database: MediaDatabase, _ copies: MediaCopies, bus: Bus, log: Log) {
        self.database = database
        self.copies = copies
        self.bus = bus
        self.log = log
    }

    /// If the database fails, the request is released: its repetition finds a working one, or reaches its deadline.
    private func begin(_ request: RequestKey, _ work: @escaping @Reactor () async throws(DatabaseError) -> Void) {
        guard inFlight < Self.limit else {
            return bus.respond(to: request, Problem(.overloaded, "too many requests are in flight"))
        }
        inFlight += 1
        Reactor.spawn { [self] in
            do throws(DatabaseError) {
                try await work()
            } catch {
                log.warning("request failed", [LogField("reason", error.debugDescription)])
                bus.abandon(request)
            }
            inFlight -= 1
        }
    }

    func attach(_ attachment: AttachMedia, _ request: RequestKey) {
        begin(request) { [self] () async throws(DatabaseError) in
            let files = try await attached(attachment)
            bus.respond(to: request, status: 200) { buffer in
                for message in attachment.messages { Self.write(message, files, to: &buffer) }
            }
        }
    }

    private func attached(_ attachment: AttachMedia) async throws(DatabaseError) -> [MediaID: MediaObject] {
        let slot = attachment.uploader.slot
        // What is in another slot is another uploader's.
        let pairs = attachment.messages.flatMap { message in
            message.media.filter { $0.slot == slot }.map { (message.message, $0) }
        }
        let media = Set(pairs.map(\.1)).sorted { $0.uuid < $1.uuid }
        let results = try await database.writing(slot).transaction { batch in
            batch.execute(MediaStatements.lockObjects) { parameters, input in
                parameters.set(input.slot, to: slot)
                parameters.set(input.media, to: media)
            }
            batch.execute(MediaStatements.attach) { parameters, input in
                parameters.set(input.slot, to: slot)
                parameters.set(input.uploader, to: attachment.uploader)
                parameters.set(input.conversation, to: attachment.conversation)
                parameters.set(input.messages, to: pairs.map(\.0))
                parameters.set(input.media, to: pairs.map(\.1))
            }
            batch.execute(MediaStatements.attachable) { parameters, input in
                parameters.set(input.slot, to: slot)
                parameters.set(input.uploader, to: attachment.uploader)
                parameters.set(input.media, to: media)
            }
        }
        let objects = results[2].map { MediaObject($0, MediaStatements.attachable.columns) }
        return Dictionary(uniqueKeysWithValues: objects.map { ($0.id, $0) })
    }

    /// The files of one message, in order, as an `AttachmentList`.
    private static func write(
        _ message: MessageMedia, _ files: [MediaID: MediaObject], to buffer: inout ByteBuffer
    ) {
        buffer.append(UInt8(message.media.count))
        for id in message.media {
            var descriptor = ByteBuffer()
            let verdict = verdict(on: files[id])
            if verdict == .ready { files[id]?.writeDescriptor(to: &descriptor) }
            let isTooLong = descriptor.count > ContractLimits.attachmentBytes
            if isTooLong { descriptor.removeAll() }
            AttachedFile(id, isTooLong ? .refused : verdict, descriptor: descriptor.bytes).write(to: &buffer)
        }
    }

    private static func verdict(on file: MediaObject?) -> AttachVerdict {
        switch file?.state {
        case nil, .deleted: .notFound
        case .uploading, .processing: .notReady
        case .refused: .refused
        case .ready: .ready
        }
    }

    func copy(_ copy: CopyMedia, _ request: RequestKey) {
        begin(request) { [self] () async throws(DatabaseError) in
            let message = MessageMedia(copy.message, copy.copies)
            if let problem = try await copies.create(message.media, for: copy) {
                return bus.respond(to: request, problem)
            }
            let files = try await attached(AttachMedia(copy.conversation, by: copy.uploader, [message]))
            bus.respond(to: request, status: 200) { Self.write(message, files, to: &$0) }
        }
    }

    func release(_ release: ReleaseMedia, _ request: RequestKey) {
        begin(request) { [self] () async throws(DatabaseError) in
            let media = release.message.media.filter { $0.slot == release.uploader.slot }
            _ = try await database.writing(release.uploader.slot).transaction { batch in
                batch.execute(MediaStatements.lockObjects) { parameters, input in
                    parameters.set(input.slot, to: release.uploader.slot)
                    parameters.set(input.media, to: media)
                }
                batch.execute(MediaStatements.release) { parameters, input in
                    parameters.set(input.slot, to: release.uploader.slot)
                    parameters.set(input.uploader, to: release.uploader)
                    parameters.set(input.conversation, to: release.conversation)
                    parameters.set(input.message, to: release.message.message)
                    parameters.set(input.media, to: media)
                }
            }
            onHidden(media)
            bus.respond(to: request, status: 204)
        }
    }

    /// Hides what a user has uploaded, and says whether there is more.
    func erase(_ user: UserID, _ request: RequestKey) {
        begin(request) { [self] () async throws(DatabaseError) in
            let rows = try await database.writing(user.slot).query(MediaStatements.erase) { parameters, input in
                parameters.set(input.slot, to: user.slot)
                parameters.set(input.user, to: user)
            }
            onHidden([])
            let hasMore = rows[0][MediaStatements.erase.columns.count] == Int64(Caretaker.rowsPerStep)
            bus.respond(to: request, status: hasMore ? 202 : 204)
        }
    }
}
