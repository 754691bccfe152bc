import Bus
import Edge
import Reactor
import ServiceKit

/// Assembles the parts of a fanout.
@Reactor
final class Fanout {
    /// How long clients may take to close their connections.
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

    /// Settings that tests and simulations change.
    struct Settings {
        var limits = SessionLimits()
        var unauthenticatedBytes = FanoutConfiguration.unauthenticatedBytes
        var presence = PresenceTiming()
        var typingLifetime = TypingTable.lifetime
        var turns = Turns.Size()
        /// Whether to query the stores for erased users and revoked tokens (some hundred requests) before any client is
        /// admitted.
        var queriesRefusals = true
    }

    init(bus: Bus, tokens: TokenVerifier, log: Log, _ settings: Settings = Settings()) {
        let fetches = FetchQueue()
        turns = Turns(settings.turns)
        sessions = SessionTable(settings.limits)
        rooms = Rooms(bus: bus, fetches: fetches, counters: counters, turns: turns, log: log)
        let streams = PrivateStreams(bus: bus, fetches: fetches, counters: counters, rooms: rooms)
        let typing = TypingRelay(bus: bus, rooms: rooms, counters: counters, lifetime: settings.typingLifetime)
        streams.roomJoined = { [sessions] in sessions.limitRooms(of: $0.user) }
        presence = Presence(
            bus: bus, rooms: rooms, streams: streams, sessions: sessions, counters: counters, turns: turns,
            timing: settings.presence)
        let supersession = Supersession(bus: bus, sessions: sessions, turns: turns)
        erased = ErasedUsers(bus: bus)
        revoked = RevokedTokens(bus: bus, longestLifetime: tokens.longestLifetime)
        let dependencies = SessionStarter.Dependencies(
            rooms: rooms, streams: streams, sessions: sessions, counters: counters, presence: presence)
        let receipts = ReceiptSender(bus: bus, rooms: rooms, counters: counters, turns: turns)
        gateway = Gateway(
            tokens: tokens, erased: erased, revoked: revoked, log: log, sessions: sessions,
            starter: SessionStarter(bus: bus, dependencies: dependencies, turns: turns), streams: streams,
            signals: Gateway.Signals(
                receipts: receipts, typing: typing, presence: presence, supersession: supersession),
            counters: counters, turns: turns, unauthenticatedBytes: settings.unauthenticatedBytes)
        gateway.requiresRefusalLists = settings.queriesRefusals
        let digests = Digests(bus: bus, rooms: rooms, streams: streams, counters: counters, turns: turns)
        reader = BusReader(
            bus: bus,
            listeners: BusReader.Listeners(
                rooms: rooms, streams: streams, digests: digests, typing: typing, presence: presence,
                profiles: ChangedProfiles(rooms: rooms, counters: counters, turns: turns), supersession: supersession,
                erased: erased, revoked: revoked),
            counters: counters)
    }

    func addMetrics(to metrics: Metrics) {
        counters.add(to: metrics)
        metrics.gauge("parley_fanout_sessions", "Open sessions") { [sessions] in Double(sessions.count) }
        metrics.gauge("parley_fanout_rooms", "Conversations with sessions") { [rooms] in Double(rooms.count) }
        metrics.gauge("parley_fanout_unauthenticated_bytes", "Bytes held for unauthenticated connections") {
            [gateway] in Double(gateway.unauthenticatedBytes)
        }
        presence.addMetrics(to: metrics)
    }

    /// Nobody is served before all erased users and revoked tokens are known.
    func addConditions(to health: Health) {
        health.require("erased users") { [erased] in
            erased.isComplete ? nil : "waiting for the stores' lists of erased users"
        }
        health.require("revoked tokens") { [revoked] in
            revoked.isComplete ? nil : "waiting for the stores' lists of revoked tokens"
        }
    }

    func start() {
        reader.start()
        if gateway.requiresRefusalLists {
            erased.start()
            revoked.start()
        }
        gateway.start()
        presence.start()
    }

    /// Asks all clients to leave and returns when they are gone.
    func drain(_ server: Server) async {
        gateway.drain()
        await withUnsafeContinuation { continuation in
            server.drain(deadline: Self.drainDeadline) { continuation.resume() }
        }
        presence.finish()
    }
}
