import Bus
import Bytes
import Models
import Reactor
import Wire

/// The times up to which tokens are revoked: a user's by an administrator, or those of devices by the user. About 100 bytes for
/// each revocation that can still apply: if tokens have a maximum lifetime, revocations are removed after that long. The same
/// list has the users that are suspended.
///
/// From the acknowledgement on, the process that sent it refuses such tokens, and suspended users. Other processes do so when the
/// announcement reaches them, or, if that is lost, the number published every second. No process is ready before all
/// slots are loaded.
@Reactor
public final class RevokedTokens {
    /// How often revocations that cannot apply any more are removed.
    private static let forgettingInterval = Duration.seconds(600)

    /// Called with each user whose revocation time or suspension moved.
    public var onRevoked: @Reactor (UserID) -> Void = { _ in }

    private let bus: Bus
    private let longestLifetime: Duration?
    private var revocations: [UserID: KnownRevocation] = [:]
    private var ofDevices: [UserID: [DeviceScope: KnownRevocation]] = [:]
    private var suspended = SuspendedUsers()

    private struct KnownRevocation {
        var before: Timestamp
        /// By the monotonic clock: a revocation removed because the wall clock jumped would not be published again.
        var arrival: MonotonicTime
    }

    private lazy var synchronizer = SlotListSynchronizer(
        query: { [bus] slot, after, completion in
            SlotListSynchronizer.request(bus, .revocations, in: slot, RevocationsQuery(slot, after: after), completion)
        },
        take: { [unowned self] (rest, after) throws(WireError) in try take(&rest, after) })

    /// - Parameter longestLifetime: the tokens' maximum lifetime, if the verifier enforces one.
    public init(bus: Bus, longestLifetime: Duration?) {
        self.bus = bus
        self.longestLifetime = longestLifetime
    }

    /// Loads all slots. From now on `receive` must be called with the frames of the topic `revocation`.
    public func start() {
        for group in SlotGroup.all { bus.subscribe(.revocation(group)) }
        synchronizer.start()
        Reactor.every(Self.forgettingInterval) { [weak self] in self?.forget(at: .now) }
    }

    /// Whether every slot was loaded.
    public var isComplete: Bool { synchronizer.isComplete }

    /// Whether the user's slot is loaded, so that `contains` is reliable.
    public func knows(_ user: UserID) -> Bool { synchronizer.isLoaded(user.slot) }

    var count: Int { revocations.count + ofDevices.reduce(0) { $0 + $1.value.count } + suspended.count }

    // MARK: Suspensions

    var hasSuspensions: Bool { suspended.count > 0 }

    /// What the user of a token is told because they are suspended; nil: they are not, or are not to know.
    public func suspension(of identity: Identity, at now: Timestamp = .now) -> Problem.Suspended? {
        suspended.suspension(of: identity, at: now)
    }

    /// Whether nobody hears of what the user of a token begins (`SuspensionMode.unheard`).
    public func isUnheard(_ identity: Identity, at now: Timestamp = .now) -> Bool {
        suspended.isUnheard(identity, at: now)
    }

    /// Adds a suspension committed by a store, or that it was lifted.
    public func insert(_ suspension: HeldSuspension, at now: Timestamp = .now) {
        if suspended.insert(suspension, at: now, .now) { onRevoked(suspension.user) }
    }

    // MARK: Tokens

    /// Whether the token of this identity is revoked. A token without `iat` counts as issued at any time. `iat` is in
    /// whole seconds, so a token issued in the same second is refused too, whether before or after the revocation.
    public func contains(_ identity: Identity) -> Bool {
        refuses(tokensOf: identity.user, on: identity.device, issuedAt: identity.issuedAt)
    }

    public func refuses(tokensOf user: UserID, on device: String? = nil, issuedAt: Timestamp?) -> Bool {
        func applies(_ known: KnownRevocation) -> Bool { issuedAt.map { $0 <= known.before } ?? true }
        if !revocations.isEmpty, let known = revocations[user], applies(known) { return true }
        guard !ofDevices.isEmpty, let scopes = ofDevices[user] else { return false }
        return scopes.contains { scope, known in scope.contains(device) && applies(known) }
    }

    /// Adds a revocation committed by a store.
    public func insert(_ revocation: Revocation, at now: MonotonicTime = .now) {
        let known = KnownRevocation(before: revocation.before, arrival: now)
        func isOlder(_ known: KnownRevocation?) -> Bool { known.map { $0.before < revocation.before } ?? true }
        if let scope = revocation.scope {
            guard isOlder(ofDevices[revocation.user]?[scope]) else { return }
            if scope.isAllBut { include(in: revocation) }
            ofDevices[revocation.user, default: [:]][scope] = known
        } else {
            guard isOlder(revocations[revocation.user]) else { return }
            revocations[revocation.user] = known
        }
        onRevoked(revocation.user)
    }

    /// Forgets what a revocation of all but a device includes. What is left of others of the kind is about this device
    /// (`end_devices.sql`).
    private func include(in revocation: Revocation) {
        guard let device = revocation.scope?.device, let all = ofDevices[revocation.user] else { return }
        let included = all.filter { $0.device != device && $1.before <= revocation.before }
        var rest = all.filter { included[$0.key] == nil }
        let others = included.filter(\.key.isAllBut).map(\.value)
        if let latest = others.max(by: { $0.before < $1.before }),
            rest[.only(device)].map({ $0.before < latest.before }) ?? true
        {
            rest[.only(device)] = latest
        }
        ofDevices[revocation.user] = rest
    }

    /// Removes revocations for which no valid token can exist any more. The revocation time may be slightly ahead of
    /// the revoking process's clock, and that clock ahead of ours.
    func forget(at now: MonotonicTime) {
        suspended.forget(at: now)
        guard let longestLifetime else { return }
        let age = longestLifetime + TokenVerifier.clockDifference * 2
        revocations = revocations.filter { now - $0.value.arrival <= age }
        ofDevices = ofDevices.mapValues { $0.filter { now - $0.value.arrival <= age } }.filter { !$0.value.isEmpty }
    }

    /// Reads a frame of the topic `revocation`.
    public func receive(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            if let entry = try? RevocationEntry(from: &reader) { take(entry) } else { bus.refuseEntry(of: frame) }
        }
    }

    private func take(_ entry: RevocationEntry) {
        if let latest = entry.latest { insert(latest) }
        synchronizer.announced(entry.number, of: entry.slot, includesEntry: entry.latest != nil)
    }

    private func insert(_ entry: ListedRevocation) {
        switch entry {
        case .tokens(let revocation): insert(revocation)
        case .suspension(let suspension): insert(suspension)
        }
    }

    private func take(_ rest: inout ByteReader, _ after: Int64) throws(WireError) -> Int64 {
        var last = after
        while !rest.isAtEnd {
            let next = try ListedRevocation(from: &rest)
            insert(next)
            last = next.number
        }
        return last
    }
}
