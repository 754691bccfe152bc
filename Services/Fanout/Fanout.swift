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
    let turns: Turns
    let sessions: SessionTable
    let rooms: Rooms
    let gateway: Gateway
    let reader: BusReader
    let presence: Presence
    let erased: ErasedUsers
    let revoked: RevokedTokens

    /// What tests and simulations choose otherwise than life.
    struct Settings {
        var limits = SessionLimits()
        var strangerBytes = FanoutConfiguration.strangerBytes
        var presence = PresenceTiming()
        var typingLifetime = TypingTable.lifetime
        var turns = Turns.Size()
        /// Whether the stores are asked whose tokens are refused, and nobody is let in before: some hundred questions.
        var asksWhoIsRefused = true
    }

    init(bus: Bus, tokens: TokenVerifier, log: Log, _ settings: Settings = Settings()) {
        let fetches = FetchQueue()
        turns = Turns(settings.turns)
        sessions = SessionTable(settings.limits)
        rooms = Rooms(bus: bus, fetches: fetches, counters: counters, turns: turns, log: log)
        let streams = PrivateStreams(bus: bus, fetches: fetches, counters: counters, rooms: rooms)
        let typing = TypingRelay(bus: bus, rooms: rooms, counters: counters, lifetime: settings.typingLifetime)
        streams.grown = { [sessions] in sessions.boundPlaces(of: $0.user) }
        presence = Presence(
            bus: bus, rooms: rooms, streams: streams, sessions: sessions, counters: counters, turns: turns,
            timing: settings.presence)
        let supersession = Supersession(bus: bus, sessions: sessions, turns: turns)
        erased = ErasedUsers(bus: bus)
        revoked = RevokedTokens(bus: bus, longestLifetime: tokens.longestLifetime)
        let places = SessionStarter.Places(
            rooms: rooms, streams: streams, sessions: sessions, counters: counters, presence: presence)
        let receipts = ReceiptSender(bus: bus, rooms: rooms, counters: counters, turns: turns)
        gateway = Gateway(
            tokens: tokens, erased: erased, revoked: revoked, log: log, sessions: sessions,
            starter: SessionStarter(bus: bus, places: places, turns: turns), streams: streams,
            signals: Gateway.Signals(
                receipts: receipts, typing: typing, presence: presence, supersession: supersession),
            counters: counters, turns: turns, strangerBytes: settings.strangerBytes)
        gateway.waitsForRefusals = settings.asksWhoIsRefused
        let digests = Digests(bus: bus, rooms: rooms, streams: streams, counters: counters, turns: turns)
        reader = BusReader(
            bus: bus,
            listeners: BusReader.Listeners(
                rooms: rooms, streams: streams, digests: digests, typing: typing, presence: presence,
                supersession: supersession, erased: erased, revoked: revoked),
            counters: counters)
    }

    func addMetrics(to metrics: Metrics) {
        counters.add(to: metrics)
        metrics.gauge("parley_fanout_sessions", "Open sessions") { [sessions] in Double(sessions.count) }
        metrics.gauge("parley_fanout_rooms", "Conversations with sessions") { [rooms] in Double(rooms.count) }
        metrics.gauge("parley_fanout_stranger_bytes", "Bytes held for clients whose token was not seen yet") {
            [gateway] in Double(gateway.strangerBytes)
        }
        presence.addMetrics(to: metrics)
    }

    /// Nobody is served whose token may be refused by what is not known yet.
    func addConditions(to health: Health) {
        health.require("erased users") { [erased] in
            erased.isComplete ? nil : "the stores have not told yet who was erased"
        }
        health.require("revoked tokens") { [revoked] in
            revoked.isComplete ? nil : "the stores have not told yet whose tokens were revoked"
        }
    }

    func start() {
        reader.start()
        if gateway.waitsForRefusals {
            erased.start()
            revoked.start()
        }
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
