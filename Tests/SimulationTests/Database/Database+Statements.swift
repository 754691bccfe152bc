import Models
import Postgres
import Reactor
import SimulationSupport

extension Database {
    func execute(_ statement: SimulatedStatement, by session: ServerSideSession) -> [SimulatedRow] {
        guard statement.purpose == .execute else { return [] }
        let arguments = Arguments(values: statement.parameters)
        guard let name = statement.name else { return own(statement.sql, arguments, session) }
        guard let play = Self.statements[name] else {
            preconditionFailure("the simulation does not know the statement \(name)")
        }
        return play(self, arguments)
    }

    typealias Play = @Reactor (Database, Arguments) -> [SimulatedRow]

    /// The prepared statements. Each must return, and leave behind, what the service's statement of this name does:
    /// `ModelTests` compares with PostgreSQL.
    static let statements: [String: Play] =
        [writes, queries, receipts, notes].reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    private static let writes: [String: Play] = [
        "lock_keys": { _, _ in [] },
        "lock_users": { _, _ in [] },
        "lock_conversations": { $0.lockConversations($1) },
        "lock_conversation": { $0.lockConversation($1) },
        "lock_searches": { _, _ in [] },
        "begin_streams": { $0.beginStreams($1) },
        "lock_streams": { $0.lockStreams($1) },
        "sweep_recent_outcomes": { _, _ in [[SimulatedValue(0 as Int64)]] },  // No run is long enough.
        "send_messages": { $0.send($1) },
        "send_message": { $0.sendOne($1) },
        "put_member": { $0.putMember($1) },
        "remove_member": { $0.removeMember($1) },
        "edit_message": { $0.editMessage($1) },
        "delete_message": { $0.deleteMessage($1) },
        "hide_message": { $0.hideMessage($1) },
        "set_tapback": { $0.setTapback($1) },
        "remove_tapback": { $0.removeTapback($1) },
        "clear_history": { $0.clearHistory($1) },
        "unlist_conversation": { $0.unlist($1) },
        "accept_request": { $0.acceptRequest($1) },
        "put_conversation_settings": { $0.putConversationSettings($1) },
        "mark_conversation": { $0.mark($1) },
        "put_settings": { $0.putSettings($1) },
        "media_releases": { _, _ in [] },
        "latest_changes": { $0.latestChanges($1) },
        "written_message": { $0.writtenMessage($1) },
        "tell_read": { $0.tellRead($1) },
    ]

    private static let queries: [String: Play] = [
        "bootstrap": { $0.bootstrap($1) },
        "blocks": { _, _ in [] },  // Nobody blocks here.
        "due_lifetimes": { _, _ in [] },  // All messages stay.
        "due_trims": { _, _ in [] },
        "due_scheduled": { _, _ in [] },  // Nobody schedules.
        "list_conversations": { _, _ in [] },
        "replay": { $0.replay($1) },
        "private_feed": { $0.privateFeed($1) },
        "conversation_positions": { $0.conversationPositions($1) },
        "user_positions": { $0.userPositions($1) },
        "changes": { $0.changes($1) },
        "reader_stays": { $0.readerStays($1) },
        "messages_before": { $0.messagesBefore($1) },
        "messages_from": { $0.messagesFrom($1) },
        "history": { $0.history($1) },
        "whole_messages": { $0.wholeMessages($1) },
        "message": { $0.message($1, ofWriter: false) },
        "message_of_writer": { $0.message($1, ofWriter: true) },
        "revisions": { $0.revisions($1) },
        "tapbacks": { $0.tapbacks($1) },
        "settings": { $0.settings($1) },
        "conversation_settings": { $0.conversationSettings($1) },
        "member": { $0.member($1) },
        "recipients": { _, _ in [] },
        "receipt_counts": { _, _ in [] },
        "kept_dates": { _, _ in [] },
        "former_end": { _, _ in [] },
        "is_erased": { _, _ in [] },
        "erasures_of_slots": { $0.erasuresOfSlots($1) },
        "revocations_of_slots": { $0.revocationsOfSlots($1) },
        "search_backlog": { _, _ in [] },
        "search_unindexed": { _, _ in [] },
        "search_unfiltered": { _, _ in [] },
    ]

    private static let receipts: [String: Play] = [
        "insert_positions": { $0.insertPositions($1) },
        "lock_positions": { $0.lockPositions($1) },
        "advance_horizons": { $0.advanceHorizons($1) },
        "status": { $0.status($1) },
        "status_positions": { $0.statusPositions($1) },
        "untold_reads": { $0.untoldReads($1) },
        "due_run_trims": { $0.dueRunTrims($1) },
        "untold_of_one": { $0.untoldOfOne($1) },
        "seen": { _, _ in [] },
        "last_seen_of_peers": { _, _ in [] },
    ]

    private static let notes: [String: Play] = [
        "note_unindexed": { $0.note("unindexed", $1) },
        "note_untold": { $0.note("untold", $1) },
        "forget_unindexed": { $0.forget("unindexed", $1) },
        "forget_untold": { $0.forget("untold", $1) },
        "noted_unindexed": { $0.noted("unindexed", $1) },
        "noted_untold": { $0.noted("untold", $1) },
        "unindexed_complete": { $0.complete("unindexed", $1) },
        "untold_complete": { $0.complete("untold", $1) },
        "unindexed_completed": { $0.completed("unindexed", $1) },
        "untold_completed": { $0.completed("untold", $1) },
    ]

    /// The time of the database server.
    var clock: Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + Int64(world.elapsed.milliseconds)) }
}

/// The statements that are sent as texts: those of `OwnershipStatements` and of a session's setup.
enum SentText: String, CaseIterable {
    case setting, bounds, join, unlockAll, unlock, heartbeat, members, endSilent, forgetDead, leave, acquire

    init?(_ sql: String) {
        switch true {
        case sql.hasPrefix("SELECT set_config"): self = sql.contains("clock_timestamp") ? .bounds : .setting
        case sql.hasPrefix("SELECT pg_advisory_lock"): self = .join
        case sql.hasPrefix("SELECT pg_advisory_unlock_all"): self = .unlockAll
        case sql.hasPrefix("SELECT pg_advisory_unlock"): self = .unlock
        case sql.hasPrefix("INSERT INTO"): self = .heartbeat
        case sql.hasPrefix("SELECT objid"): self = .members
        case sql.hasPrefix("SELECT pg_terminate_backend"): self = .endSilent
        case sql.hasPrefix("DELETE FROM"): self = sql.contains("WHERE seen_at") ? .forgetDead : .leave
        case sql.hasPrefix("WITH free"): self = .acquire
        default: return nil
        }
    }
}

// MARK: Ownership

extension Database {
    fileprivate func own(_ sql: String, _ arguments: Arguments, _ session: ServerSideSession) -> [SimulatedRow] {
        guard let text = SentText(sql) else {
            preconditionFailure("the simulation does not know this statement: \(sql)")
        }
        let schema = sql.contains("receipt.") ? "receipt" : "store"
        switch text {
        case .setting, .bounds: return []
        case .join: return join(arguments, session)
        case .unlockAll:
            locks.release(session)
            return []
        case .unlock: return unlock(arguments, session)
        case .heartbeat: return seen(schema, arguments)
        case .members: return members(schema, arguments)
        case .endSilent: return endSilent(arguments)
        case .forgetDead: return forgetDead(schema)
        case .leave: return leave(schema, arguments)
        case .acquire: return acquire(schema, arguments, session)
        }
    }

    private func join(_ arguments: Arguments, _ session: ServerSideSession) -> [SimulatedRow] {
        _ = locks.take(.init(lockClass: arguments.value(0), number: arguments.value(1)), session)
        return []
    }

    private func seen(_ schema: String, _ arguments: Arguments) -> [SimulatedRow] {
        tables.services[schema, default: [:]][arguments.value(0)] = clock
        return []
    }

    private func members(_ schema: String, _ arguments: Arguments) -> [SimulatedRow] {
        let seen = tables.services[schema, default: [:]]
        let present = locks.holders(ofClass: Int32(arguments.value(0) as Int64)).map { id, session in
            (Int64(id), session.number, seen[Int64(id)] ?? Timestamp(milliseconds: 0))
        }
        let recent = present.count { $0.2.milliseconds > clock.milliseconds - 3000 }
        let others = others(schema, besides: recent).map { ($0, Int32(0), clock) }
        return (present + others).map { id, session, seenAt in
            let isRecent = seenAt.milliseconds > clock.milliseconds - 3000
            return [SimulatedValue(id), SimulatedValue(session), SimulatedValue(seenAt), SimulatedValue(isRecent)]
        }
    }

    /// The owners of slots that are not simulated, so many that each simulated owner has an even share.
    private func others(_ schema: String, besides count: Int) -> [Int64] {
        let share = (tables.epochs[schema]!.count + max(1, count) - 1) / max(1, count)
        return (0..<max(0, Slot.count / share - count)).map { -Int64($0) }
    }

    private func endSilent(_ arguments: Arguments) -> [SimulatedRow] {
        let key = AdvisoryLocks.Key(
            lockClass: Int32(arguments.value(0) as Int64), number: Int32(arguments.value(1) as Int64))
        let bound = Duration.milliseconds(arguments.value(3) as Int64)
        guard let holder = locks.holder(key), holder.number == arguments.value(2), holder.isSilent(for: bound) else {
            return []
        }
        world.note("the session of \(holder.node.kind) \(holder.node.number) is ended: it is silent")
        sessionsEnded += 1
        cut(holder)
        return [[SimulatedValue(true)]]
    }

    private func leave(_ schema: String, _ arguments: Arguments) -> [SimulatedRow] {
        tables.services[schema]?[arguments.value(0)] = nil
        return []
    }

    private func forgetDead(_ schema: String) -> [SimulatedRow] {
        tables.services[schema] = tables.services[schema]?.filter {
            $0.value.milliseconds >= clock.milliseconds - 60_000
        }
        return []
    }

    private func acquire(_ schema: String, _ arguments: Arguments, _ session: ServerSideSession) -> [SimulatedRow] {
        let lockClass: Int32 = arguments.value(1)
        let wanted: Int64 = arguments.value(2)
        // Each element is a four-byte length and a two-byte slot. A session may take a lock that it already holds.
        let candidates = arguments.values[0]!
        let isCandidate = Set(stride(from: 25, to: candidates.count, by: 6).map { candidates[$0] })
        var rows: [SimulatedRow] = []
        for (slot, epoch) in tables.epochs[schema]!.sorted(by: { $0.key < $1.key }) where rows.count < wanted {
            let key = AdvisoryLocks.Key(lockClass: lockClass, number: Int32(slot.number))
            guard isCandidate.contains(slot.number), locks.take(key, session) else { continue }
            let next = world.mutation == .epochsStay ? max(1, epoch) : epoch + 1
            tables.epochs[schema]![slot] = next
            let notes = schema == "store" ? "unindexed" : "untold"
            if tables.notedEpochs[notes]?[slot] == epoch { tables.notedEpochs[notes]![slot] = next }
            rows.append([SimulatedValue(slot), SimulatedValue(next)])
        }
        return rows
    }

    private func unlock(_ arguments: Arguments, _ session: ServerSideSession) -> [SimulatedRow] {
        let lockClass: Int32 = arguments.value(0)
        return (arguments.array(1) as [Slot]).map { slot in
            let key = AdvisoryLocks.Key(lockClass: lockClass, number: Int32(slot.number))
            return [SimulatedValue(locks.release(key, session))]
        }
    }
}
