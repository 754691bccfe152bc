import Models
import Postgres

/// The SQL of slot ownership. It runs about twice a second and is not prepared.
struct OwnershipStatements {
    /// An identifier from code, not quoted.
    let schema: String
    let lockClass: Int32

    private var memberLockClass: Int32 { lockClass + 1 }

    /// Takes the member's lock, by which the others see this session.
    func join(_ batch: inout Batch, _ member: Int32) {
        batch.execute(sql: "SELECT pg_advisory_lock($1, $2)") { parameters in
            parameters.add(memberLockClass)
            parameters.add(member)
        }
    }

    /// Releases all locks of this member and deletes its row.
    func leave(_ batch: inout Batch, _ member: Int32) {
        batch.execute(sql: "DELETE FROM \(schema).services WHERE id = $1") { $0.add(Int64(member)) }
        batch.execute(sql: "SELECT pg_advisory_unlock_all()")
        commitWithoutWaiting(&batch)
    }

    /// Renews the member's row, then lists the members: the sessions that hold a member's lock. Returns id, backend
    /// process id, last heartbeat (1970 when there is none), and whether it is within three seconds. Rows of dead
    /// members are deleted after a minute.
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

    /// Ends the session of a silent member, if the server agrees. The session must still hold the member's lock under
    /// the given process id, belong to this role, have begun and ended nothing within `bound`, and wait for its client.
    /// A session that runs a long statement, waits for a lock or waits for a standby is left alone: its successor would
    /// wait there, too. A state change in the future means that the clock was set back since. Returns whether the
    /// session was ended; no row when none matched.
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

    /// Heartbeats need not survive a crash. They must not take disk time from messages, nor wait for a standby. `true`
    /// limits the setting to this transaction.
    private func commitWithoutWaiting(_ batch: inout Batch) {
        batch.execute(sql: "SELECT set_config('synchronous_commit', 'off', true)")
    }

    /// Locks up to `wanted` free slots and increments their epochs. Returns slot, epoch. A slot whose work is all noted
    /// keeps that state (`WorkNotes`): whoever owns the slot, notes are removed only when their work is done.
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
