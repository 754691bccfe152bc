import Archives
import Foundation
import Reactor

/// An archive that is read on a thread of its own, because its reading waits for the disk. The reactor takes its lines.
///
/// At most `mostLines` and `mostBytes` are kept, and one line more; the thread waits while there is no room.
final class ArchiveFeed: @unchecked Sendable {
    // @unchecked: what changes is used between `lock` and `unlock` of `condition` alone.
    private let condition = NSCondition()
    private var lines = FIFO<ImportLine>()
    private var bytes = 0
    private var outcome: Result<ArchiveReport, any Error>?
    private var isStopped = false
    /// Whether the reactor found nothing, and is to be told when there is something.
    private var isAwaited = false

    private let arrived: @Reactor @Sendable () -> Void

    private static let mostLines = 4_096
    private static let mostBytes = 1024 * 1024
    private static let stackBytes = 8 * 1024 * 1024

    private struct Stopped: Error {}

    /// - Parameter arrived: called on the reactor when there is something again.
    init(_ reader: any ArchiveReader & Sendable, arrived: @escaping @Reactor @Sendable () -> Void) {
        self.arrived = arrived
        let thread = Thread { [self] in
            let outcome = Result { try read(reader) }
            change { $0.outcome = outcome }
        }
        thread.stackSize = Self.stackBytes
        thread.start()
    }

    /// The next line. Nil: there is none yet, or no more.
    func take() -> ImportLine? {
        condition.lock()
        defer { condition.unlock() }
        guard let line = lines.popFirst() else {
            isAwaited = true
            return nil
        }
        bytes -= line.bytes.count
        condition.signal()
        return line
    }

    /// What became of the archive, when all its lines are taken.
    var end: Result<ArchiveReport, any Error>? {
        condition.withLock { lines.isEmpty ? outcome : nil }
    }

    /// Ends the reading. What was read may still be taken.
    func stop() {
        condition.lock()
        isStopped = true
        condition.signal()
        condition.unlock()
    }

    // MARK: The thread

    private func read(_ reader: any ArchiveReader) throws -> ArchiveReport {
        let coding = RecordLine()
        return try reader.read { record in
            let line = try ImportLine(record, coding)
            try awaitRoom()
            change {
                $0.bytes += line.bytes.count
                $0.lines.append(line)
            }
        }
    }

    private func awaitRoom() throws {
        condition.lock()
        defer { condition.unlock() }
        while !isStopped, lines.count >= Self.mostLines || bytes >= Self.mostBytes { condition.wait() }
        if isStopped { throw Stopped() }
    }

    private func change(_ body: (ArchiveFeed) -> Void) {
        condition.lock()
        body(self)
        let isAwaited = isAwaited
        self.isAwaited = false
        condition.unlock()
        guard isAwaited else { return }
        let arrived = arrived
        Reactor.spawn { arrived() }
    }
}
