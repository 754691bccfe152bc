import Models
import Postgres

/// The statements of slot ownership. They run about twice a second and are not prepared.
struct OwnershipStatements {
    private struct JoinInput: NamedFields {
        let lockClass: Parameter<Int32>
        let member: Parameter<Int32>
    }

    private struct MemberInput: NamedFields { let member: Parameter<Int64> }

    private struct MembersInput: NamedFields { let lockClass: Parameter<Int64> }

    struct MemberColumns: NamedFields {
        let id: Column<Int64>
        let session: Column<Int32>
        let seenAt: Column<Timestamp>
        let isRecent: Column<Bool>
    }

    private struct EndInput: NamedFields {
        let lockClass: Parameter<Int64>
        let member: Parameter<Int64>
        let session: Parameter<Int32>
        let quiet: Parameter<Int64>
    }

    struct EndColumns: NamedFields { let isEnded: Column<Bool> }

    private struct AcquireInput: NamedFields {
        let candidates: Parameter<[Slot]>
        let lockClass: Parameter<Int32>
        let wanted: Parameter<Int64>
    }

    private struct AcquireShardInput: NamedFields {
        let lockClass: Parameter<Int32>
        let key: Parameter<Slot>
        let slots: Parameter<[Slot]>
    }

    struct SlotColumns: NamedFields {
        let slot: Column<Slot>
        let epoch: Column<Int64>
    }

    private struct UnlockInput: NamedFields {
        let lockClass: Parameter<Int32>
        let slots: Parameter<[Slot]>
    }

    private struct LockedColumns: NamedFields { let isLocked: Column<NoValue> }
    private struct UnlockedColumns: NamedFields { let isUnlocked: Column<NoValue> }
    private struct UnlockedSlotColumns: NamedFields { let isUnlocked: Column<Bool> }
    private struct SettingColumns: NamedFields { let setting: Column<String> }

    private let lockClass: Int32
    private var memberLockClass: Int32 { lockClass + 1 }

    private let join: PreparedStatement<JoinInput, LockedColumns>
    private let leave: PreparedStatement<MemberInput, NoFields>
    private let unlockEverything: PreparedStatement<NoFields, UnlockedColumns>
    private let renew: PreparedStatement<MemberInput, NoFields>
    private let members: PreparedStatement<MembersInput, MemberColumns>
    private let forgetDead: PreparedStatement<NoFields, NoFields>
    private let endSession: PreparedStatement<EndInput, EndColumns>
    private let commitWithoutWaiting: PreparedStatement<NoFields, SettingColumns>
    private let acquire: PreparedStatement<AcquireInput, SlotColumns>
    private let acquireShard: PreparedStatement<AcquireShardInput, SlotColumns>
    private let unlock: PreparedStatement<UnlockInput, UnlockedSlotColumns>

    var all: [Statement] {
        [
            join.untyped, leave.untyped, unlockEverything.untyped, renew.untyped, members.untyped, forgetDead.untyped,
            endSession.untyped, commitWithoutWaiting.untyped, acquire.untyped, acquireShard.untyped, unlock.untyped,
        ]
    }

    /// The columns of what `heartbeat`, `endSession`, `acquire` and `acquireShard` return.
    var memberColumns: MemberColumns { members.columns }
    var endColumns: EndColumns { endSession.columns }
    var slotColumns: SlotColumns { acquire.columns }

    /// - Parameter schema: a name from code, which is not quoted.
    init(schema: String, lockClass: Int32) {
        self.lockClass = lockClass
        let names = Self.names(schema)
        join = PreparedStatement("join_services", PackageResources.join_services_sql, names)
        leave = PreparedStatement("leave_services", PackageResources.leave_services_sql, names)
        unlockEverything = PreparedStatement("unlock_everything", PackageResources.unlock_everything_sql, names)
        renew = PreparedStatement("renew_heartbeat", PackageResources.renew_heartbeat_sql, names)
        members = PreparedStatement("list_members", PackageResources.list_members_sql, names)
        forgetDead = PreparedStatement("forget_dead_members", PackageResources.forget_dead_members_sql, names)
        endSession = PreparedStatement("end_session", PackageResources.end_session_sql, names)
        commitWithoutWaiting = PreparedStatement(
            "commit_without_waiting", PackageResources.commit_without_waiting_sql, names)
        acquire = PreparedStatement("acquire_slots", PackageResources.acquire_slots_sql, names)
        acquireShard = PreparedStatement("acquire_shard", PackageResources.acquire_shard_sql, names)
        unlock = PreparedStatement("unlock_slots", PackageResources.unlock_slots_sql, names)
    }

    static func names(_ schema: String) -> SQLNames {
        SQLNames(.sql("schema", schema), .fragment("is_member_lock", PackageResources.is_member_lock_sql))
    }

    // MARK: Members

    func join(_ batch: inout Batch, _ member: Int32) {
        batch.execute(unprepared: join) { parameters, input in
            parameters.set(input.lockClass, to: memberLockClass)
            parameters.set(input.member, to: member)
        }
    }

    /// Releases all locks of this member and deletes its row.
    func leave(_ batch: inout Batch, _ member: Int32) {
        batch.execute(unprepared: leave) { $0.set($1.member, to: Int64(member)) }
        batch.execute(unprepared: unlockEverything)
        batch.execute(unprepared: commitWithoutWaiting)
    }

    /// Renews the member's row, then lists the members, and deletes the rows of dead ones.
    func heartbeat(_ batch: inout Batch, _ member: Int32) {
        batch.execute(unprepared: renew) { $0.set($1.member, to: Int64(member)) }
        batch.execute(unprepared: members) { $0.set($1.lockClass, to: Int64(memberLockClass)) }
        batch.execute(unprepared: forgetDead)
        batch.execute(unprepared: commitWithoutWaiting)
    }

    /// Ends the session of a silent member, if the server agrees.
    func endSession(_ batch: inout Batch, of member: Member, silentFor bound: Duration) {
        batch.execute(unprepared: endSession) { parameters, input in
            parameters.set(input.lockClass, to: Int64(memberLockClass))
            parameters.set(input.member, to: Int64(member.id))
            parameters.set(input.session, to: member.session)
            parameters.set(input.quiet, to: Int64(bound.milliseconds))
        }
    }

    // MARK: Slots

    /// Locks up to `wanted` free slots.
    func acquire(_ batch: inout Batch, _ share: SlotShare) {
        batch.execute(unprepared: acquire) { parameters, input in
            parameters.set(input.candidates, to: share.candidates)
            parameters.set(input.lockClass, to: lockClass)
            parameters.set(input.wanted, to: Int64(share.wanted))
        }
    }

    /// Locks a shard if it is free; fails if it is on another node. The rows are those of the second statement.
    func acquire(_ batch: inout Batch, _ shard: Placement.Shard) {
        batch.execute(sql: "SELECT placement.hold($1, true)") { $0.add(shard.number) }
        batch.execute(unprepared: acquireShard, for: shard.names) { parameters, input in
            parameters.set(input.lockClass, to: lockClass)
            parameters.set(input.key, to: shard.key)
            parameters.set(input.slots, to: shard.slots)
        }
    }

    func unlock(_ batch: inout Batch, _ slots: [Slot]) {
        batch.execute(unprepared: unlock) { parameters, input in
            parameters.set(input.lockClass, to: lockClass)
            parameters.set(input.slots, to: slots)
        }
    }
}
