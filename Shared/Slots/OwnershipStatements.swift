import Models
import Postgres

/// The SQL of ownership. Run about twice a second, so not prepared.
struct OwnershipStatements {
    /// An identifier of the code's own: it is not quoted.
    let schema: String
    let lockClass: Int32

    private var memberLockClass: Int32 { lockClass + 1 }

    /// Shows the others that this session is there.
    func join(_ batch: inout Batch, _ member: Int32) {
        batch.execute(sql: "SELECT pg_advisory_lock($1, $2)") { parameters in
            parameters.add(memberLockClass)
            parameters.add(member)
        }
    }

    /// Gives up everything that belongs to this member.
    func leave(_ batch: inout Batch, _ member: Int32) {
        batch.execute(sql: "DELETE FROM \(schema).services WHERE id = $1") { $0.add(Int64(member)) }
        batch.execute(sql: "SELECT pg_advisory_unlock_all()")
        commitWithoutWaiting(&batch)
    }

    /// Renews the member's row, then lists the members, which are the sessions that hold a member's lock: id, the server's
    /// process of the session, the last heartbeat (1970 when there is none yet), and whether that is within three seconds.
    /// Rows of the dead go after a minute.
    func heartbeat(_ batch: inout Batch, _ member: Int32) {
        batch.execute(
            sql: """
                INSERT INTO \(schema).services (id, seen_at) VALUES ($1, clock_timestamp())
                ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
                """
        ) { $0.add(Int64(member)) }
        batch.execute(
            sql: """
                SELECT objid::bigint, pid, coalesce(seen_at, 'epoch'),
                       coalesce(seen_at > clock_timestamp() - interval '3 seconds', false)
                FROM pg_locks LEFT JOIN \(schema).services ON id = objid::bigint
                WHERE \(Self.isMemberLock)
                """
        ) { $0.add(Int64(memberLockClass)) }
        batch.execute(
            sql: "DELETE FROM \(schema).services WHERE seen_at < clock_timestamp() - interval '1 minute'")
        commitWithoutWaiting(&batch)
    }

    private static let isMemberLock = """
        locktype = 'advisory' AND classid::bigint = $1 AND objsubid = 2 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    /// Ends the session of a member that others take for silent, if the server agrees: the session that holds the member's lock
    /// at this moment is served by that very process, belongs to this role, has begun and ended nothing for as long as the
    /// bound, and the server waits for its client. It does not where a statement takes long, waits for a lock or for a
    /// standby: whoever took over would wait there, too. A time to come is that of a clock that was set back since.
    /// Returns whether it was told to end; no row when there was nothing to end.
    func endSession(_ batch: inout Batch, of member: Member, silentFor bound: Duration) {
        batch.execute(
            sql: """
                SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE \(Self.isMemberLock) AND objid::bigint = $2 AND pid = $3
                AND usename = current_user AND wait_event_type = 'Client'
                AND state_change NOT BETWEEN clock_timestamp() - $4 * interval '1 millisecond' AND clock_timestamp()
                """
        ) { parameters in
            parameters.add(Int64(memberLockClass))
            parameters.add(Int64(member.id))
            parameters.add(member.session)
            parameters.add(Int64(bound.milliseconds))
        }
    }

    /// Who is alive need not survive a crash: it must not take the disk from messages, nor wait for a standby. `true`:
    /// for this transaction only.
    private func commitWithoutWaiting(_ batch: inout Batch) {
        batch.execute(sql: "SELECT set_config('synchronous_commit', 'off', true)")
    }

    /// Locks up to `wanted` free slots and raises their epochs. Returns slot, epoch. A slot in which everything is noted
    /// stays such a one (`WorkNotes`): notes go when their work is done, whoever owns the slot.
    func acquire(_ batch: inout Batch, _ share: SlotShare) {
        batch.execute(
            sql: """
                WITH free AS MATERIALIZED (
                    SELECT slot FROM unnest($1) AS slot WHERE pg_try_advisory_lock($2, slot::integer) LIMIT $3
                )
                UPDATE \(schema).slots SET epoch = epoch + 1,
                    noted_epoch = CASE WHEN noted_epoch = epoch THEN epoch + 1 ELSE noted_epoch END
                FROM free WHERE slots.slot = free.slot
                RETURNING slots.slot, slots.epoch
                """
        ) { parameters in
            parameters.addArray(of: .int2)
            for slot in share.candidates { parameters.append(slot) }
            parameters.add(lockClass)
            parameters.add(Int64(share.wanted))
        }
    }

    func unlock(_ batch: inout Batch, _ slots: [Slot]) {
        batch.execute(sql: "SELECT pg_advisory_unlock($1, slot::integer) FROM unnest($2) AS slot") { parameters in
            parameters.add(lockClass)
            parameters.addArray(of: .int2)
            for slot in slots { parameters.append(slot) }
        }
    }
}
