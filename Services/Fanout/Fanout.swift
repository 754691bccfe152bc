import Bus
import Edge
import Reactor
import ServiceKit

/// The parts of a fanout, put together.
@Reactor
final class Fanout {
    /// For clients to take their leave.
    private static let drainDeadline = Duration.seconds(3)

    let counters = Counters()
    let sessions = SessionTable()
    let rooms: Rooms
    let gateway: Gateway
    let reader: BusReader
    let presence: Presence
    private let erased: ErasedUsers
    private let revoked: RevokedTokens

    init(
        bus: Bus, tokens: TokenVerifier, log: Log, presence timing: PresenceTiming = PresenceTiming(),
        typingLifetime: Duration = TypingTable.lifetime
    ) {
        let fetches = FetchQueue()
        rooms = Rooms(bus: bus, fetches: fetches, counters: counters, log: log)
        let streams = PrivateStreams(bus: bus, fetches: fetches, counters: counters, rooms: rooms)
        let typing = TypingRelay(bus: bus, rooms: rooms, counters: counters, lifetime: typingLifetime)
        presence = Presence(
            bus: bus, rooms: rooms, streams: streams, sessions: sessions, counters: counters, timing: timing)
        let supersession = Supersession(bus: bus, sessions: sessions)
        erased = ErasedUsers(bus: bus)
        revoked = RevokedTokens(bus: bus, longestLifetime: tokens.longestLifetime)
        gateway = Gateway(
            tokens: tokens, erased: erased, revoked: revoked, log: log, sessions: sessions,
            starter: SessionStarter(bus: bus, rooms: rooms, streams: streams, counters: counters, presence: presence),
            streams: streams, receipts: ReceiptSender(bus: bus, rooms: rooms, counters: counters), typing: typing,
            presence: presence, supersession: supersession)
        reader = BusReader(
            bus: bus, rooms: rooms, streams: streams,
            digests: Digests(bus: bus, rooms: rooms, streams: streams, counters: counters), typing: typing,
            presence: presence, supersession: supersession, erased: erased, revoked: revoked, counters: counters)
    }

    func addMetrics(to metrics: Metrics) {
        counters.add(to: metrics)
        metrics.gauge("parley_fanout_sessions", "Open sessions") { [sessions] in Double(sessions.count) }
        metrics.gauge("parley_fanout_rooms", "Conversations with sessions") { [rooms] in Double(rooms.count) }
        presence.addMetrics(to: metrics)
    }

    func start() {
        reader.start()
        erased.start()
        revoked.start()
        gateway.start()
        presence.start()
    }

    /// Sends all clients away and returns when they are gone.
    func drain(_ server: Server) async {
        gateway.drain()
        await withUnsafeContinuation { continuation in
            server.drain(deadline: Self.drainDeadline) { continuation.resume() }
        }
        presence.finish()
    }
}
