import Bus
import Bytes
import Models
import Reactor
import ServiceKit
import Wire

/// Hands every frame from the bus to whom it concerns.
@Reactor
final class BusReader {
    private let bus: Bus
    private let rooms: Rooms
    private let streams: PrivateStreams
    private let digests: Digests
    private let typing: TypingRelay
    private let presence: Presence
    private let supersession: Supersession
    private let erased: ErasedUsers
    private let revoked: RevokedTokens
    private let counters: Counters
    /// Of this turn. They wait for its end, so that no message waits for them.
    private var statuses: [InboundFrame] = []

    init(
        bus: Bus, rooms: Rooms, streams: PrivateStreams, digests: Digests, typing: TypingRelay,
        presence: Presence, supersession: Supersession, erased: ErasedUsers, revoked: RevokedTokens, counters: Counters
    ) {
        self.presence = presence
        self.bus = bus
        self.rooms = rooms
        self.streams = streams
        self.digests = digests
        self.typing = typing
        self.supersession = supersession
        self.erased = erased
        self.revoked = revoked
        self.counters = counters
    }

    /// Any session may need any group, so all are subscribed; what concerns nobody here costs a look-up.
    func start() {
        bus.onFrame = { [unowned self] in receive($0) }
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
        case .change: rooms.receiveChanges(frame)
        case .privateChange: streams.receive(frame)
        case .status: keep(frame)
        case .digest: digests.receiveFromStore(frame)
        case .receiptDigest: digests.receiveFromReceipt(frame)
        case .ephemeral where frame.origin != bus.instance: receiveEphemeral(frame)
        case .ephemeral: break
        case .erasure: erased.receive(frame)
        case .revocation: revoked.receive(frame)
        case .command, .receiptCommand, .answer: break
        }
    }

    private func keep(_ status: InboundFrame) {
        statuses.append(status)
        guard statuses.count == 1 else { return }
        Reactor.atEndOfTurn { [unowned self] in
            for frame in statuses { rooms.receiveStatuses(frame) }
            statuses = []
        }
    }

    private func receiveEphemeral(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            switch try? EphemeralEntry(from: &reader) {
            case .typing(let conversation, let user, let isActive): typing.receive(conversation, user, isActive)
            case .superseded(let user, let device, let age): supersession.superseded(user, device: device, age: age)
            case .presence(let list): presence.receive(list, from: frame.origin)
            case .alive: presence.hear(frame.origin)
            case nil:
                counters.entriesRefused += 1
                bus.refuseEntry(of: frame)
            }
        }
    }
}
