import Models
import Postgres
import Reactor

/// Who must know which slots this process owns.
@Reactor
public protocol SlotOwnerDelegate: AnyObject {
    /// From now on this process serves `slot`. Digests carry `epoch`, higher than any former owner's.
    func acquired(_ slot: Slot, epoch: Int64)
    /// Nothing of `slot` may be sent to the database from now on.
    func lost(_ slot: Slot)
    /// Another member had fallen silent: the server ends its session, `session` being the process that serves it.
    func ended(session: Int32)
}

/// Shares the slots evenly among the running processes of one kind.
///
/// A slot is owned by holding a session-level advisory lock on the very connection that writes, so a dead process's
/// slots free themselves when the server ends its session. A second lock, one per member, tells the others at once that
/// the session is there; a row in `services`, renewed twice a second, tells them that the process still works. Where the
/// session stays and the heartbeats do not, the others end the session: see `SilentMembers`. Ownership makes the work
/// efficient, never correct: that rests on row locks and constraints.
///
/// Reads and writes `<schema>.slots (slot, epoch, noted_epoch)` and `<schema>.services (id, seen_at)`.
@Reactor
public final class SlotOwner {
    /// Held slots and the epochs under which they are held.
    public private(set) var epochs: [Slot: Int64] = [:]

    private let connection: Connection
    private let statements: OwnershipStatements
    private weak let delegate: (any SlotOwnerDelegate)?
    private let member: Int32
    private let silenceBound: Duration
    /// For so long the server must have waited for a silent client. Less than the bound, because other statements may have
    /// come behind the last heartbeat.
    private var quietBound: Duration { silenceBound * 4 / 5 }
    private var silentMembers: SilentMembers
    private var nextLook: TimerID?
    private var isDrained = false

    /// A death is noticed at the next one: well within the two seconds in which a dead store is replaced.
    private static let heartbeat = Duration.milliseconds(500)
    /// While slots that belong here are held elsewhere: their owner gives them up at its next heartbeat.
    private static let impatientHeartbeat = Duration.milliseconds(100)

    /// A member that was not heard of for so long loses its session. Ten heartbeats: a process that merely waits for its
    /// share of a busy machine is heard in between.
    public static let silenceBound = Duration.seconds(5)

    /// `lockClass` and `lockClass + 1` are the first keys of the advisory locks: different for each kind of service.
    public init(
        connection: Connection, schema: String, lockClass: Int32, delegate: any SlotOwnerDelegate,
        silenceBound: Duration = SlotOwner.silenceBound
    ) {
        self.connection = connection
        self.delegate = delegate
        self.silenceBound = silenceBound
        silentMembers = SilentMembers(bound: silenceBound)
        var random = ProcessRandom()
        member = .random(in: 1 ... .max, using: &random)
        statements = OwnershipStatements(schema: schema, lockClass: lockClass)
        connection.onUp { [weak self] in self?.join() }
        connection.onLoss { [weak self] _ in self?.loseEverything() }
        if connection.isUp { join() }
    }

    /// Gives everything up and calls `completion`. For a process that is about to end.
    public func drain(completion: @escaping @Reactor () -> Void) {
        isDrained = true
        loseEverything()
        guard connection.isUp else { return completion() }
        connection.submit {
            statements.leave(&$0, member)
        } completion: { _ in
            completion()
        }
    }

    // MARK: The others

    private func join() {
        guard !isDrained else { return }
        silentMembers = SilentMembers(bound: silenceBound)
        connection.submit {
            statements.join(&$0, member)
        } completion: { [weak self] outcome in
            self?.expectCommitted(outcome)
            self?.look()
        }
    }

    /// Renews the heartbeat, counts the members and takes or gives what follows from that.
    private func look() {
        guard connection.isUp, !isDrained else { return }
        connection.submit {
            statements.heartbeat(&$0, member)
        } completion: { [weak self] outcome in
            guard let self, !isDrained else { return }
            if case .committed(let rows) = outcome { looked(at: rows[1].map(Member.init)) }
            if connection.isUp, nextLook == nil { look(after: Self.heartbeat) }
        }
    }

    private func look(after delay: Duration) {
        nextLook = Reactor.after(delay) { [weak self] in
            self?.nextLook = nil
            self?.look()
        }
    }

    private func looked(at members: [Member]) {
        share(among: members.filter(\.isRecent).map(\.id))
        for silent in silentMembers.look(at: members.filter { $0.id != member }, now: .now) { endSession(of: silent) }
    }

    /// What that one held is free as soon as the server has ended the session.
    private func endSession(of silent: Member) {
        guard connection.isUp else { return }
        connection.submit {
            statements.endSession(&$0, of: silent, silentFor: quietBound)
        } completion: { [weak self] outcome in
            guard let self, case .committed(let rows) = outcome, rows[0].contains(where: { $0[0] as Bool }) else {
                return
            }
            delegate?.ended(session: silent.session)
            if connection.isUp, !isDrained { hurry() }
        }
    }

    private func share(among members: [Int32]) {
        let share = SlotShare(members: members, own: member, held: Set(epochs.keys))
        if !share.release.isEmpty { release(share.release) }
        if share.wanted > 0 { acquire(share) }
    }

    // MARK: The slots

    private func release(_ slots: [Slot]) {
        for slot in slots { lose(slot) }
        // Behind whatever was sent for these slots: the next owner comes after it is committed.
        unlock(slots)
    }

    private func unlock(_ slots: [Slot]) {
        connection.submit({ statements.unlock(&$0, slots) }, completion: { [weak self] in self?.expectCommitted($0) })
    }

    /// Locks belong to the session: one that may hold what nobody knows of would keep a slot from everybody.
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
            for row in rows[0] where !isDrained { hold(row[0], epoch: row[1]) }
            if rows[0].count < share.wanted { hurry() }
        case .failed, .unknown:
            // Advisory locks outlive the transaction that took them, but not the session.
            if connection.isUp { unlock(share.candidates) }
        }
    }

    private func hurry() {
        if let nextLook { Reactor.cancel(nextLook) }
        look(after: Self.impatientHeartbeat)
    }

    private func hold(_ slot: Slot, epoch: Int64) {
        epochs[slot] = epoch
        delegate?.acquired(slot, epoch: epoch)
    }

    private func lose(_ slot: Slot) {
        epochs[slot] = nil
        delegate?.lost(slot)
    }

    private func loseEverything() {
        if let nextLook { Reactor.cancel(nextLook) }
        nextLook = nil
        for slot in epochs.keys.sorted() { lose(slot) }
    }
}

extension Member {
    /// A row of `OwnershipStatements.heartbeat`.
    fileprivate init(_ row: Row) {
        self.init(id: Int32(row[0] as Int64), session: row[1], seenAt: row[2], isRecent: row[3])
    }
}
