import Models
import Postgres

extension Database {
    /// Executes a statement. Each case must return what the service's statement of this name returns.
    func execute(_ statement: SimulatedStatement, by session: ServerSideSession) -> [SimulatedRow] {
        let arguments = Arguments(values: statement.parameters)
        switch statement.name {
        case SimulatedStatement.preparation: return []

        // store: the writer
        case "lock_keys", "lock_users", "lock_conversations", "lock_searches", "lock_erasures": return []
        case "begin_streams", "lock_streams": return []
        case "sweep_recent_outcomes": return [[SimulatedValue(0 as Int64)]]
        case "send_messages": return send(arguments)
        case "send_message": return sendOne(arguments)
        case "put_member": return putMember(arguments)
        case "remove_member": return removeMember(arguments)
        case "edit_message": return editMessage(arguments)
        case "delete_message": return deleteMessage(arguments)
        case "hide_message": return hideMessage(arguments)
        case "set_tapback": return setTapback(arguments)
        case "remove_tapback": return removeTapback(arguments)
        case "clear_history": return clearHistory(arguments)
        case "unlist_conversation": return unlist(arguments)
        case "put_conversation_settings": return putConversationSettings(arguments)
        case "put_settings": return putSettings(arguments)
        case "latest_changes": return latestChanges(arguments)
        case "tell_read": return tellRead(arguments)
        case "trim_private": return [[SimulatedValue(0 as Int64)]]  // It always keeps less.
        // store: queries
        case "bootstrap": return bootstrap(arguments)
        case "list_conversations": return []  // A client that has cursors does not list conversations.
        case "replay": return replay(arguments)
        case "private_feed": return privateFeed(arguments)
        case "conversation_positions": return conversationPositions(arguments)
        case "user_positions": return userPositions(arguments)
        case "changes": return changes(arguments)
        case "reader_stays": return readerStays(arguments)
        case "messages_before": return messagesBefore(arguments)
        case "messages_from": return messagesFrom(arguments)
        case "history": return history(arguments)
        case "whole_messages": return wholeMessages(arguments)
        case "message": return message(arguments, ofWriter: false)
        case "message_of_writer": return message(arguments, ofWriter: true)
        case "revisions": return revisions(arguments)
        case "tapbacks": return tapbacks(arguments)
        case "settings": return settings(arguments)
        case "conversation_settings": return conversationSettings(arguments)
        case "member": return member(arguments)
        case "recipients", "receipt_counts", "kept_dates", "former_end", "is_erased", "erasures_of_slots",
            "revocations_of_slots":
            return []
        case "search_backlog", "search_unindexed": return []

        // receipt
        case "insert_positions", "lock_positions": return []
        case "advance_horizons": return advanceHorizons(arguments)
        case "status": return status(arguments)
        case "status_positions": return statusPositions(arguments)
        case "untold_reads": return untoldReads(arguments)
        case "untold_of_one": return untoldOfOne(arguments)
        // both
        case "note_unindexed": return note("unindexed", arguments)
        case "note_untold": return note("untold", arguments)
        case "forget_unindexed": return forget("unindexed", arguments)
        case "forget_untold": return forget("untold", arguments)
        case "noted_unindexed": return noted("unindexed", arguments)
        case "noted_untold": return noted("untold", arguments)
        case "unindexed_complete": return complete("unindexed", arguments)
        case "untold_complete": return complete("untold", arguments)
        case "unindexed_completed": return completed("unindexed", arguments)
        case "untold_completed": return completed("untold", arguments)
        case "seen", "last_seen_of_peers": return []

        default: return own(statement.name, arguments, session)
        }
    }

    /// The time of the database server.
    var clock: Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + Int64(world.elapsed.milliseconds)) }
}

// MARK: Ownership

extension Database {
    /// Executes the unnamed statements: those of `OwnershipStatements` and of a session's setup.
    fileprivate func own(_ sql: String, _ arguments: Arguments, _ session: ServerSideSession) -> [SimulatedRow] {
        if sql.hasPrefix("SELECT set_config") { return [] }
        if sql.hasPrefix("SELECT pg_advisory_lock") { return join(arguments, session) }
        if sql.hasPrefix("SELECT pg_advisory_unlock_all") {
            locks.release(session)
            return []
        }
        if sql.hasPrefix("SELECT pg_advisory_unlock") { return unlock(arguments, session) }
        let schema = sql.contains("receipt.") ? "receipt" : "store"
        if sql.hasPrefix("INSERT INTO") { return seen(schema, arguments) }
        if sql.hasPrefix("SELECT objid") { return members(schema, arguments) }
        if sql.hasPrefix("SELECT pg_terminate_backend") { return endSilent(arguments) }
        if sql.hasPrefix("DELETE FROM") { return leave(schema, arguments) }
        if sql.hasPrefix("WITH free") { return acquire(schema, arguments, session) }
        preconditionFailure("the simulation does not know this statement: \(sql)")
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
        if let member: Int64 = arguments.values.first.map({ _ in arguments.value(0) }) {
            tables.services[schema]?[member] = nil
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
        for slot in arguments.array(1) as [Slot] {
            locks.release(.init(lockClass: lockClass, number: Int32(slot.number)), session)
        }
        return []
    }
}
