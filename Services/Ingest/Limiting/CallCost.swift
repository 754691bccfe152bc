import Bytes
import JSON
import Models

/// The cost of a call, in messages sent.
///
/// The unit is the cost of one message in the stores. A page of 50 messages was measured at ten times that
/// (docs/benchmarks.md); a member of a new group is about as many rows as a message. The other costs follow from the
/// rows that a call reads.
struct CallCost: Equatable {
    let base: Int
    /// The cost of a hundred items: those in the request, or the most that its response may have.
    let perHundredItems: Int
    /// The calls of one user in flight at a time, for calls that a service serves few of: the share alone would let one
    /// user take all of them.
    let atOnce: Int?

    init(_ base: Int = 1, perHundredItems: Int = 0, atOnce: Int? = nil) {
        self.base = base
        self.perHundredItems = perHundredItems
        self.atOnce = atOnce
    }

    /// At least 1, and 1 per KiB of the body: a batch of large texts takes as long to write to disk as one of many
    /// small messages.
    func of(_ items: Int, bodyBytes: Int = 0) -> Int { max(1, base + items * perHundredItems / 100, bodyBytes >> 10) }
}

extension Call {
    var cost: CallCost {
        switch self {
        case .limits, .document: CallCost(0)  // Served by ingest itself.
        case .send, .schedule, .cancelScheduled, .edit, .delete, .setTapback, .removeTapback, .pinMessage,
            .unpinMessage, .vote, .closePoll, .receipts:
            CallCost()
        case .sendBatch: CallCost(0, perHundredItems: 100)
        case .createConversation: CallCost(perHundredItems: 100)
        case .rename, .putMember, .removeMember, .clearHistory, .unlist, .putPermissions, .putLifetime, .liftBan,
            .declineJoinRequest:
            CallCost()
        case .mute, .unmute, .pin, .unpin, .archive, .unarchive, .markUnread, .unmarkUnread: CallCost()
        // Told to every device of the user, and a client puts as it likes while somebody types.
        case .putDraft: CallCost(5)
        case .removeDraft: CallCost()
        // What is tried with codes, and made with them.
        case .createInvitation, .invitation, .join: CallCost(5)
        case .invitations: CallCost(3)
        case .revokeInvitation: CallCost()
        case .block, .unblock, .acceptRequest, .declineRequest: CallCost()
        // A list of 1,000 names at most.
        case .blocks: CallCost(20)
        case .devices: CallCost(3)
        // Each is an exclusive lock in the user's slot, which others there wait for, and is told to all processes.
        case .endDevice, .endOtherDevices: CallCost(50)
        // A search for a conversation that the two share, for each.
        case .profiles: CallCost(perHundredItems: 50)
        // What tells open clients of it.
        case .putProfile: CallCost(5)
        case .eraseUser, .revokeTokens, .dropImport: CallCost()
        case .suspension, .suspend, .liftSuspension: CallCost()
        // The open reports of the conversation are counted. And moderators look at each: nobody needs to make fifty at once.
        case .createReport: CallCost(100)
        // A look-up in every slot.
        case .reports: CallCost(Slot.count, atOnce: 2)
        case .report, .resolveReport, .putRetention: CallCost()
        case .acts: CallCost(perHundredItems: 2)
        // Its records are background work of the stores, which take them as they have time.
        case .importRecords: CallCost(atOnce: 4)
        // Its pages take turns in the stores, so that others go first.
        case .exportConversation, .exportUser: CallCost(20, atOnce: 2)
        case .settings, .putSettings, .conversationSettings, .putConversationSettings: CallCost()
        case .conversation, .message, .revisions: CallCost()
        case .history, .pinnedMessages, .scheduled: CallCost(perHundredItems: 20)
        // Most of what is looked at may mention others.
        case .mentions: CallCost(3, perHundredItems: 20)
        case .listConversations: CallCost(perHundredItems: 10, atOnce: 8)
        case .changes, .members, .bans, .joinRequests, .tapbacks, .votes, .messageReceipts: CallCost(perHundredItems: 2)
        case .sync: CallCost(10, atOnce: 8)
        // The longest page of the list.
        case .unreadTotal: CallCost(20, atOnce: 8)
        // Half of it at most.
        case .requests: CallCost(20)
        case .search: CallCost(20, atOnce: 8)
        case .digest: CallCost(0, perHundredItems: 500, atOnce: 4)
        }
    }

    /// `{"search":{"base":20,"atOnce":8},…}`
    static func writeCosts(to buffer: inout ByteBuffer) {
        buffer.beginObject()
        for call in allCases where call.needsToken && call.cost != CallCost() {
            buffer.append(key: call.name)
            buffer.beginObject()
            buffer.append(key: "base", json: call.cost.base)
            if call.cost.perHundredItems > 0 { buffer.append(key: "perHundredItems", json: call.cost.perHundredItems) }
            if let atOnce = call.cost.atOnce { buffer.append(key: "atOnce", json: atOnce) }
            buffer.endObject()
        }
        buffer.endObject()
    }
}
