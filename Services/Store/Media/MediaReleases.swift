import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Tells `media` which messages have lost their attachments, until it acknowledges.
///
/// The transaction that takes attachments away notes it in `store.media_releases`, so nothing is forgotten, whenever a
/// process dies. What is in memory are only the slots that may have notes: those of a commit, and those just acquired.
@Reactor
final class MediaReleases {
    /// Collects what is released at about the same time, and the slots of a start.
    private static let pause = Duration.milliseconds(20)
    /// Between rounds in which `media` did not acknowledge everything. A system may be without `media` for ever.
    private static let firstPauseAfterFailure = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    private static let deadline = Duration.seconds(5)

    private let bus: Bus
    private let slots: OwnedSlots
    private let connection: Connection
    private let log: Log
    /// Slots that may have notes.
    private var due: Set<Slot> = []
    private var isPlanned = false
    private var isRunning = false
    private var pauseAfterFailure = firstPauseAfterFailure
    private(set) var acknowledged = 0

    /// - Parameter connection: for background work.
    init(bus: Bus, slots: OwnedSlots, connection: Connection, log: Log) {
        self.bus = bus
        self.slots = slots
        self.connection = connection
        self.log = log
        slots.onAcquired { [weak self] in self?.note($0) }
        slots.onDoubt { [weak self] in self?.note($0) }
        connection.onUp { [weak self] in self?.plan(after: Self.pause) }
    }

    /// The slots that may have notes.
    var waitingCount: Int { due.count }

    /// Records that a commit noted a release in this slot, or may have.
    func note(_ slot: Slot) {
        due.insert(slot)
        plan(after: Self.pause)
    }

    private func plan(after delay: Duration) {
        guard !isPlanned, !isRunning, !due.isEmpty else { return }
        isPlanned = true
        Reactor.after(delay) { [weak self] in
            self?.isPlanned = false
            self?.run()
        }
    }

    private func run() {
        guard connection.isUp, !due.isEmpty else { return }
        isRunning = true
        let asked = due.filter(slots.contains)
        due = []
        Reactor.spawn { [self] in
            let left = await tell(asked)
            isRunning = false
            due.formUnion(left)
            if left.isEmpty {
                pauseAfterFailure = Self.firstPauseAfterFailure
                plan(after: Self.pause)
            } else {
                plan(after: pauseAfterFailure)
                pauseAfterFailure = min(pauseAfterFailure * 2, Self.longestPause)
            }
        }
    }

    /// Tells what is noted in some slots, page by page. Returns the slots in which something is left.
    private func tell(_ asked: Set<Slot>) async -> Set<Slot> {
        var left: Set<Slot> = []
        var last: Release?
        do throws(DatabaseError) {
            repeat {
                let page = try await releases(in: asked, after: last)
                var done: [Release] = []
                for (release, isDone) in await told(page) {
                    if isDone { done.append(release) } else { left.insert(release.slot) }
                }
                try await forget(done)
                last = page.count == MediaStatements.releasesPerPage ? page.last : nil
            } while last != nil
            if !left.isEmpty { log.warning("media does not acknowledge what messages no longer carry") }
            return left
        } catch {
            log.warning("releases of media wait", [LogField("reason", error.debugDescription)])
            return asked
        }
    }

    /// Asks for all of a page at once. An owner of `media` that is away delays only this.
    private func told(_ page: [Release]) async -> [(Release, Bool)] {
        await withUnsafeContinuation { continuation in
            guard !page.isEmpty else { return continuation.resume(returning: []) }
            var outcomes: [(Release, Bool)] = []
            for release in page {
                let request = release.request
                bus.request(.release, of: request.uploader, deadline: Self.deadline) {
                    request.write(to: &$0)
                } completion: { outcome in
                    if case .response(let response) = outcome, response.status < 300 {
                        outcomes.append((release, true))
                    } else {
                        outcomes.append((release, false))
                    }
                    if outcomes.count == page.count { continuation.resume(returning: outcomes) }
                }
            }
        }
    }

    // MARK: Notes

    private struct Release {
        let slot: Slot
        let request: ReleaseMedia

        init(_ row: Row, _ columns: MediaStatements.ReleaseColumns) {
            slot = row[columns.slot]
            request = ReleaseMedia(
                row[columns.conversationId], by: row[columns.senderId],
                MessageMedia(row[columns.messageId], MediaID.list(row[columns.media])))
        }
    }

    private func releases(in slots: Set<Slot>, after last: Release?) async throws(DatabaseError) -> [Release] {
        let rows = try await connection.query(MediaStatements.releases) { parameters, input in
            parameters.set(input.slots, to: slots)
            parameters.set(input.afterSlot, to: last?.slot ?? Slot(0))
            parameters.set(input.afterConversation, to: last?.request.conversation ?? ConversationID(.zero))
            parameters.set(input.afterMessage, to: last?.request.message.message ?? MessageID(.zero))
            parameters.set(input.limit, to: Int64(MediaStatements.releasesPerPage))
        }
        return rows.map { Release($0, MediaStatements.releases.columns) }
    }

    private func forget(_ releases: [Release]) async throws(DatabaseError) {
        guard !releases.isEmpty else { return }
        _ = try await connection.query(MediaStatements.forget) { parameters, input in
            parameters.set(input.key, to: releases.lazy.map(\.request.conversation))
            parameters.set(input.messages, to: releases.lazy.map(\.request.message.message))
        }
        acknowledged += releases.count
    }
}
