import Bus
import Bytes
import Models
import Reactor
import Wire

/// Up to when the tokens of users are refused, because an administrator revoked them. Some 100 bytes for each user of whom
/// a token can still be refused by it: where tokens have a longest lifetime, revocations are forgotten when they have been
/// known for that long.
///
/// From the acknowledgement on the process that gave it refuses such tokens, and the others as soon as they are told: at
/// once, or where the announcement was lost with the next second's number. Nobody serves before all slots are loaded.
@Reactor
public final class RevokedTokens {
    /// How often what is too old to refuse anything is forgotten.
    private static let forgettingInterval = Duration.seconds(600)

    /// Called with each user whose moment moved.
    public var onRevoked: @Reactor (UserID) -> Void = { _ in }

    private let bus: Bus
    private let longestLifetime: Duration?
    private var moments: [UserID: Moment] = [:]

    private struct Moment {
        var before: Timestamp
        /// By the clock that does not jump: what was forgotten because of the other one would never be told again.
        var arrival: MonotonicTime
    }

    private lazy var numbers = SlotNumbers(
        query: { [bus] slot, after, completion in
            SlotNumbers.ask(bus, .revocations, in: slot, RevocationsQuery(slot, after: after), completion)
        },
        take: { [unowned self] (rest, after) throws(WireError) in try take(&rest, after) })

    /// - Parameter longestLifetime: of tokens, where the verifier holds them to it.
    public init(bus: Bus, longestLifetime: Duration?) {
        self.bus = bus
        self.longestLifetime = longestLifetime
    }

    /// Loads all slots. `receive` has to get the frames of the bus from now on.
    public func start() {
        for group in SlotGroup.all { bus.subscribe(.revocation(group)) }
        numbers.start()
        Reactor.every(Self.forgettingInterval) { [weak self] in self?.forget(at: .now) }
    }

    /// Whether every slot was loaded.
    public var isComplete: Bool { numbers.isComplete }

    /// Whether it can be said of this user whether tokens of theirs are revoked.
    public func knows(_ user: UserID) -> Bool { numbers.isLoaded(user.slot) }

    var count: Int { moments.count }

    /// Whether the token of this identity is revoked. One that does not say when it was issued may be of any time. `iat` is in
    /// seconds, cut off: a token of the very second is refused, too, whether it came before or after.
    public func contains(_ identity: Identity) -> Bool {
        refuses(tokensOf: identity.user, issuedAt: identity.issuedAt)
    }

    public func refuses(tokensOf user: UserID, issuedAt: Timestamp?) -> Bool {
        guard !moments.isEmpty, let moment = moments[user] else { return false }
        guard let issuedAt else { return true }
        return issuedAt <= moment.before
    }

    /// A store has said so.
    public func insert(_ revocation: Revocation, at now: MonotonicTime = .now) {
        if let moment = moments[revocation.user], moment.before >= revocation.before { return }
        moments[revocation.user] = Moment(before: revocation.before, arrival: now)
        onRevoked(revocation.user)
    }

    /// Those up to whose moment no token can have been issued that is still valid. The moment may lie a little ahead of the
    /// clock of who revoked, and that one ahead of ours.
    func forget(at now: MonotonicTime) {
        guard let longestLifetime else { return }
        let age = longestLifetime + TokenVerifier.clockDifference * 2
        moments = moments.filter { now - $0.value.arrival <= age }
    }

    /// Takes a frame under the topic `revocation`.
    public func receive(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            if let entry = try? RevocationEntry(from: &reader) { take(entry) } else { bus.refuseEntry(of: frame) }
        }
    }

    private func take(_ entry: RevocationEntry) {
        if let revocation = entry.latest { insert(revocation) }
        numbers.announced(entry.number, of: entry.slot, isTold: entry.latest != nil)
    }

    private func take(_ rest: inout ByteReader, _ after: Int64) throws(WireError) -> Int64 {
        var last = after
        while !rest.isAtEnd {
            let revocation = try Revocation(from: &rest)
            insert(revocation)
            last = revocation.number
        }
        return last
    }
}
