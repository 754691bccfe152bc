import Bus
import Bytes
import Models
import Reactor
import ServiceKit
import Wire

/// Dispatches every frame from the bus to the parts that handle it.
///
/// A frame of changes may go to a room of ten thousand sessions, many times. The work of one turn is therefore bounded.
/// What is left waits for the next turn, and so does every later frame by which a session could notice that something
/// is missing.
@Reactor
final class BusReader {
    /// Frames passed to sessions in one turn: about two milliseconds of work.
    static let portion = 8_192
    /// The most bytes of waiting frames. Further frames are dropped, as the bus may do at any time; streams are
    /// repaired.
    static let waitingBytes = 64 << 20
    /// The same for receipts, kept apart so that they cannot displace changes.
    static let waitingStatusBytes = 16 << 20

    /// The parts that handle frames from the bus.
    struct Listeners {
        let rooms: Rooms
        let streams: PrivateStreams
        let digests: Digests
        let typing: TypingRelay
        let presence: Presence
        let profiles: ChangedProfiles
        let supersession: Supersession
        let erased: ErasedUsers
        let revoked: RevokedTokens
    }

    /// A waiting frame and its unread entries.
    private struct Waiting {
        let frame: InboundFrame
        var entries: FrameReader.Entries
    }

    /// A bounded queue of frames, and callbacks that wait until the frames before them are handled.
    @Reactor
    private final class Backlog {
        let limit: Int
        var waiting = FIFO<Waiting>()
        var bytes = 0
        /// Counts of frames ever queued and handled.
        private var (kept, handled) = (0, 0)
        private var listeners = FIFO<(frames: Int, body: @Reactor () -> Void)>()

        init(limit: Int) { self.limit = limit }

        var isEmpty: Bool { waiting.isEmpty }

        func append(_ frame: InboundFrame) {
            kept += 1
            bytes += frame.count
            waiting.append(Waiting(frame: frame, entries: frame.entries))
        }

        func removeFirst() {
            bytes -= waiting.popFirst()?.frame.count ?? 0
            handled += 1
            while let (frames, body) = listeners.first, frames <= handled {
                _ = listeners.popFirst()
                body()
            }
        }

        func wait(_ body: @escaping @Reactor () -> Void) {
            if isEmpty { body() } else { listeners.append((kept, body)) }
        }
    }

    private let bus: Bus
    private let listeners: Listeners
    private let counters: Counters
    private let changes = Backlog(limit: waitingBytes)
    /// Handled at the end of the turn, so that no message waits for receipts.
    private let statuses = Backlog(limit: waitingStatusBytes)
    private var isTurnPlanned = false
    /// The value of `handedOut` at which this turn's portion is used up.
    private var end = 0

    init(bus: Bus, listeners: Listeners, counters: Counters) {
        self.bus = bus
        self.listeners = listeners
        self.counters = counters
    }

    /// Subscribes to all groups, because any session may need any of them. An entry without sessions here costs one
    /// lookup.
    func start() {
        bus.onFrame = { [weak self] in self?.receive($0) }
        listeners.rooms.afterBacklog = { [weak self] in self?.changes.wait($0) }
        listeners.rooms.afterStatusBacklog = { [weak self] in self?.statuses.wait($0) }
        for group in SlotGroup.all {
            bus.subscribe(.change(group))
            bus.subscribe(.privateChange(group))
            bus.subscribe(.status(group))
            bus.subscribe(.digest(group))
            bus.subscribe(.receiptDigest(group))
            bus.subscribe(.ephemeral(group))
        }
    }

    private func receive(_ frame: InboundFrame) {
        switch frame.topic {
        case .change, .digest, .receiptDigest, .status: keep(frame)
        case .privateChange: listeners.streams.receive(frame)
        case .ephemeral where frame.origin != bus.instance: receiveEphemeral(frame)
        case .ephemeral: break
        case .erasure: listeners.erased.receive(frame)
        case .revocation: listeners.revoked.receive(frame)
        case .command, .receiptCommand, .mediaCommand, .response, .served: break
        }
    }

    // MARK: Work of a turn

    private func keep(_ frame: InboundFrame) {
        let backlog = isStatus(frame) ? statuses : changes
        guard backlog.bytes + frame.count <= backlog.limit else { return counters.framesDropped += 1 }
        backlog.append(frame)
        planTurn()
        handle(changes)
    }

    private func isStatus(_ frame: InboundFrame) -> Bool {
        switch frame.topic {
        case .status, .receiptDigest: true
        default: false
        }
    }

    /// The first frame of a turn starts its portion. Receipts follow at the end of the turn.
    private func planTurn() {
        guard !isTurnPlanned else { return }
        isTurnPlanned = true
        end = counters.handedOut + Self.portion
        // A fanout of a test may be gone by then.
        Reactor.atEndOfTurn { [weak self] in self?.takeTurn() }
    }

    private func takeTurn() {
        isTurnPlanned = false
        handle(changes)
        if changes.isEmpty { handle(statuses) }
        if !changes.isEmpty || !statuses.isEmpty { planTurn() }
    }

    private func handle(_ backlog: Backlog) {
        while counters.handedOut < end, let frame = backlog.waiting.first?.frame {
            var next: UnsafeRawBufferPointer?
            backlog.waiting.updateFirst { next = $0.entries.next() }
            if let next { handle(next, of: frame) } else { backlog.removeFirst() }
        }
    }

    private func handle(_ entry: UnsafeRawBufferPointer, of frame: InboundFrame) {
        switch frame.topic {
        case .change: listeners.rooms.receiveChange(entry, of: frame)
        case .status: listeners.rooms.receiveStatus(entry, of: frame)
        case .digest: listeners.digests.receiveFromStore(entry, of: frame)
        default: listeners.digests.receiveFromReceipt(entry, of: frame)
        }
    }

    // MARK: Ephemeral events

    /// Whether this turn's portion has room for typing, which would be useless later.
    private var hasTimeForTyping: Bool {
        planTurn()
        return changes.isEmpty && counters.handedOut < end
    }

    private func receiveEphemeral(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            switch try? EphemeralEntry(from: &reader) {
            case .typing(let conversation, let user, let isActive):
                guard hasTimeForTyping else {
                    counters.typingDropped += 1
                    continue
                }
                listeners.typing.receive(conversation, user, isActive)
            case .superseded(let user, let device, let age):
                listeners.supersession.superseded(user, device: device, age: age)
            case .presence(let list): listeners.presence.receive(list, from: frame.origin)
            case .alive: listeners.presence.recordActivity(of: frame.origin)
            case .profile(let news): listeners.profiles.receive(news)
            case nil:
                counters.entriesRefused += 1
                bus.refuseEntry(of: frame)
            }
        }
    }
}
