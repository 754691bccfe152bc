import Models
import Postgres
import Reactor

/// Receives the changes in which slots this process owns.
@Reactor
public protocol SlotOwnerDelegate: AnyObject {
    /// From now on this process serves `slot`. Its digests carry `epoch`, which is higher than any former owner's.
    func acquired(_ slot: Slot, epoch: Int64)
    /// From now on nothing of `slot` may be sent to the database.
    func lost(_ slot: Slot)
    /// The session of a silent member was ended. `session` is the process id of its backend.
    func ended(session: Int32)
}

/// Shares the slots evenly among the running processes of one kind.
///
/// A process owns a slot by holding a session-level advisory lock on the connection that writes, so the slots of a dead
/// process are free when the server ends its session. A second lock, one per member, shows the others at once that the
/// session exists; a row in `services`, renewed twice a second, shows that the process still works. When the session
/// stays and the heartbeats stop, the others end the session: see `SilentMembers`. Ownership makes the work efficient;
/// its correctness rests on row locks and constraints.
///
/// On Citus there is one for each node, on a session straight to it, and the members of a node share its shards: all slots
/// of one have the same owner (`ShardOwners`).
///
/// Reads and writes `<schema>.slots (slot, epoch, noted_epoch)` and `<schema>.services (id, seen_at)`.
@Reactor
public final class SlotOwner {
    /// The owned slots and their epochs.
    public private(set) var epochs: [Slot: Int64] = [:]

    private let connection: Connection
    private let statements: OwnershipStatements
    private weak let delegate: (any SlotOwnerDelegate)?
    private let member: Int32
    private let silenceBound: Duration
    /// How long the server must have waited for a silent client. It is less than the bound, because other statements
    /// may have followed the last heartbeat.
    private var quietBound: Duration { silenceBound * 4 / 5 }
    private var silentMembers: SilentMembers
    private var nextBeat: TimerID?
    private var isDrained = false
    /// On Citus, the shards on the node, by their keys. Nil: every slot is shared by itself.
    private var shards: [Slot: Placement.Shard]?
    private var isAcquiring = false

    /// Members are counted at each heartbeat, so a death is noticed well within the two seconds in which a dead store
    /// is replaced.
    private static let heartbeat = Duration.milliseconds(500)
    /// Used while slots of this member's share are held elsewhere: their owner releases them at its next heartbeat.
    private static let urgentHeartbeat = Duration.milliseconds(100)

    /// A member without a heartbeat for this long loses its session. It is ten heartbeats, so a process that merely
    /// waits for its share of a busy machine keeps it.
    public static let silenceBound = Duration.seconds(5)

    /// `lockClass` and `lockClass + 1` are the first keys of the advisory locks. Each kind of service has its own.
    public init(
        connection: Connection, schema: String, lockClass: Int32, delegate: any SlotOwnerDelegate,
        silenceBound: Duration = SlotOwner.silenceBound, sharesShards: Bool = false
    ) {
        self.connection = connection
        shards = sharesShards ? [:] : nil
        self.delegate = delegate
        self.silenceBound = silenceBound
        silentMembers = SilentMembers(bound: silenceBound)
        var random = ProcessRandom()
        member = .random(in: 1 ... .max, using: &random)
        statements = OwnershipStatements(schema: schema, lockClass: lockClass)
        connection.onUp { [weak self] in self?.join() }
        connection.onLoss { [weak self] _ in self?.loseAll() }
        if connection.isUp { join() }
    }

    /// Releases everything and calls `completion`, at the end of the process.
    public func drain(completion: @escaping @Reactor () -> Void) {
        isDrained = true
        loseAll()
        guard connection.isUp else { return completion() }
        connection.submit {
            statements.leave(&$0, member)
        } completion: { _ in
            completion()
        }
    }

    // MARK: Members

    private func join() {
        guard !isDrained else { return }
        silentMembers = SilentMembers(bound: silenceBound)
        connection.submit {
            statements.join(&$0, member)
        } completion: { [weak self] outcome in
            self?.expectCommitted(outcome)
            self?.beat()
        }
    }

    /// Renews the heartbeat, reads the members, and acquires or releases slots accordingly.
    private func beat() {
        guard connection.isUp, !isDrained else { return }
        connection.submit {
            statements.heartbeat(&$0, member)
        } completion: { [weak self] outcome in
            guard let self, !isDrained else { return }
            if case .committed(let rows) = outcome { observe(rows[1].map { Member($0, statements.memberColumns) }) }
            if connection.isUp, nextBeat == nil { beat(after: Self.heartbeat) }
        }
    }

    private func beat(after delay: Duration) {
        nextBeat = Reactor.after(delay) { [weak self] in
            self?.nextBeat = nil
            self?.beat()
        }
    }

    private func observe(_ members: [Member]) {
        share(among: members.filter(\.isRecent).map(\.id))
        for silent in silentMembers.observe(members.filter { $0.id != member }, now: .now) { endSession(of: silent) }
    }

    /// The slots of the silent member are free as soon as the server has ended its session.
    private func endSession(of silent: Member) {
        guard connection.isUp else { return }
        connection.submit {
            statements.endSession(&$0, of: silent, silentFor: quietBound)
        } completion: { [weak self] outcome in
            guard let self, case .committed(let rows) = outcome,
                rows[0].contains(where: { $0[self.statements.endColumns.isEnded] })
            else {
                return
            }
            delegate?.ended(session: silent.session)
            if connection.isUp, !isDrained { beatSoon() }
        }
    }

    private func share(among members: [Int32]) {
        let share: SlotShare
        if let shards {
            let held = Set(shards.keys.filter { epochs[$0] != nil })
            share = SlotShare(members: members, own: member, held: held, of: shards.keys.sorted())
        } else {
            share = SlotShare(members: members, own: member, held: Set(epochs.keys))
        }
        if !share.release.isEmpty { release(share.release) }
        if share.wanted > 0 { shards == nil ? acquire(share) : acquireShards(share) }
    }

    // MARK: Shards

    /// The shards that are on the node now. Others are given up.
    public func setShards(_ present: [Placement.Shard]) {
        let present = Dictionary(uniqueKeysWithValues: present.map { ($0.key, $0) })
        guard let shards, present != shards else { return }
        let gone = shards.keys.filter { present[$0] == nil && epochs[$0] != nil }
        if !gone.isEmpty { release(gone) }
        self.shards = present
        // A shard that has come is served by nobody.
        if connection.isUp, !isDrained { beatSoon(after: .zero) }
    }

    /// Gives up a shard in whose name nothing can be written any more. It is acquired again where it is, under a new epoch.
    public func giveUp(_ key: Slot) {
        guard epochs[key] != nil else { return }
        release([key])
        if connection.isUp, !isDrained { beatSoon() }
    }

    /// Tries one after the other until as many are acquired as are wanted.
    private func acquireShards(_ share: SlotShare) {
        guard !isAcquiring else { return }
        isAcquiring = true
        acquireShards(share.candidates[...], wanted: share.wanted)
    }

    private func acquireShards(_ candidates: ArraySlice<Slot>, wanted: Int) {
        guard wanted > 0, let key = candidates.first, connection.isUp, !isDrained else {
            isAcquiring = false
            if wanted > 0, connection.isUp, !isDrained { beatSoon() }
            return
        }
        guard let shard = shards?[key] else { return acquireShards(candidates.dropFirst(), wanted: wanted) }
        connection.submit {
            statements.acquire(&$0, shard)
        } completion: { [weak self] outcome in
            guard let self else { return }
            let isHeld = acquired(outcome, shard)
            acquireShards(candidates.dropFirst(), wanted: wanted - (isHeld ? 1 : 0))
        }
    }

    private func acquired(_ outcome: BatchOutcome, _ shard: Placement.Shard) -> Bool {
        guard case .committed(let rows) = outcome else {
            // Session-level advisory locks outlive a failed transaction.
            if connection.isUp { unlock([shard.key]) }
            return false
        }
        guard !rows[1].isEmpty else { return false }
        guard !isDrained, shards?[shard.key] != nil else {
            unlock([shard.key])
            return false
        }
        let columns = statements.slotColumns
        for row in rows[1] { hold(row[columns.slot], epoch: row[columns.epoch]) }
        return true
    }

    // MARK: Slots

    private func release(_ slots: [Slot]) {
        for slot in slots { for lost in shards?[slot]?.slots ?? [slot] { lose(lost) } }
        // Queued behind everything sent for these slots, so the next owner starts after that is committed. Of a shard other
        // sessions write, whose batches prove its epoch.
        unlock(slots)
    }

    private func unlock(_ slots: [Slot]) {
        connection.submit({ statements.unlock(&$0, slots) }, completion: { [weak self] in self?.expectCommitted($0) })
    }

    /// Gives up the session when its locks are uncertain: it might hold a lock for a slot that nobody serves.
    private func expectCommitted(_ outcome: BatchOutcome) {
        if case .committed = outcome { return }
        connection.giveUpSession("locks could not be taken or released")
    }

    private func acquire(_ share: SlotShare) {
        connection.submit {
            statements.acquire(&$0, share)
        } completion: { [weak self] outcome in
            self?.acquired(outcome, share)
        }
    }

    private func acquired(_ outcome: BatchOutcome, _ share: SlotShare) {
        switch outcome {
        case .committed(let rows):
            let columns = statements.slotColumns
            for row in rows[0] where !isDrained { hold(row[columns.slot], epoch: row[columns.epoch]) }
            if rows[0].count < share.wanted { beatSoon() }
        case .failed, .unknown:
            // Session-level advisory locks outlive a failed transaction.
            if connection.isUp { unlock(share.candidates) }
        }
    }

    private func beatSoon(after delay: Duration = urgentHeartbeat) {
        if let nextBeat { Reactor.cancel(nextBeat) }
        beat(after: delay)
    }

    private func hold(_ slot: Slot, epoch: Int64) {
        epochs[slot] = epoch
        delegate?.acquired(slot, epoch: epoch)
    }

    private func lose(_ slot: Slot) {
        epochs[slot] = nil
        delegate?.lost(slot)
    }

    private func loseAll() {
        if let nextBeat { Reactor.cancel(nextBeat) }
        nextBeat = nil
        for slot in epochs.keys.sorted() { lose(slot) }
    }
}

extension Member {
    fileprivate init(_ row: Row, _ columns: OwnershipStatements.MemberColumns) {
        self.init(
            id: Int32(row[columns.id]), session: row[columns.session], seenAt: row[columns.seenAt],
            isRecent: row[columns.isRecent])
    }
}
