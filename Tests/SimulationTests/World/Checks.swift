import Models
import Reactor

/// Conditions that must hold at the end.
@Reactor
enum Checks {
    /// Whether every request has its response and every session has received everything.
    static func haveClientsEverything(_ system: System) -> Bool {
        system.clients.allSatisfy { client in
            client.unanswered == 0 && client.isConnected && client.useq == privateEnd(client, system)
                && system.conversations.allSatisfy { hasEverything(client, $0, system) }
        }
    }

    private static func hasEverything(_ client: Client, _ conversation: ConversationID, _ system: System) -> Bool {
        let end = system.database.tables.conversations[conversation]!.end(for: client.user)
        return client.cursors[conversation]?.seq ?? 0 == end
    }

    private static func privateEnd(_ client: Client, _ system: System) -> Int64 {
        system.database.tables.users[client.user]?.useq ?? 0
    }

    static func missing(_ system: System) -> String {
        system.clients.map { client in
            let cursors = system.conversations.map { id in
                let end = system.database.tables.conversations[id]!.end(for: client.user)
                return "\(client.cursors[id]?.seq ?? 0) of \(end)"
            }
            return "\(client.user): \(client.unanswered) unanswered, \(client.isConnected ? "" : "not ")connected, "
                + "changes \(cursors.joined(separator: " and ")), private \(client.useq) of \(privateEnd(client, system))"
        }.joined(separator: "; ")
    }

    // MARK: Receipts

    /// Whether every member has read everything. Alice and bob, who never left, must see everyone's receipts, and all
    /// devices must know their user's read position.
    static func areReceiptsEverywhere(_ system: System) -> Bool {
        system.conversations.allSatisfy { id in
            let conversation = system.database.tables.conversations[id]!
            return system.users.filter(conversation.isMember).allSatisfy { user in
                conversation.horizons[user]?.read == conversation.lastSeq
                    && system.database.tables.users[user]?.told[id] == conversation.lastSeq
                    && system.clients.prefix(2).allSatisfy { client in
                        client.read[id]?[user.name] ?? 0 == conversation.horizons[user]?.shown
                    }
            }
        } && system.clients.allSatisfy { $0.useq == privateEnd($0, system) }
    }

    static func missingReceipts(_ system: System) -> String {
        system.conversations.map { id in
            let conversation = system.database.tables.conversations[id]!
            let users = system.users.filter(conversation.isMember).map { user in
                let seen = system.clients.prefix(2).map { "\($0.read[id]?[user.name] ?? 0)" }.joined(separator: ", ")
                let horizon = conversation.horizons[user] ?? Tables.Horizon()
                return "\(user) read \(horizon.read) and shows \(horizon.shown), told "
                    + "\(system.database.tables.users[user]?.told[id] ?? 0), seen \(seen)"
            }
            return "of \(conversation.lastSeq): \(users.joined(separator: "; "))"
        }.joined(separator: " | ")
    }

    // MARK: Tables

    /// Checks that positions have no gaps and that everything acknowledged was done exactly once.
    static func checkTables(_ system: System) {
        for (id, conversation) in system.database.tables.conversations {
            if conversation.entries.map(\.seq) != Array(1...conversation.lastSeq) {
                system.world.violated("the positions of \(id) are not dense")
            }
            guard let ledger = system.ledger(id) else { continue }
            for done in system.promises.done where done.operation.conversation == id {
                if let fault = done.fault(in: ledger) {
                    system.world.violated("\(done.operation.kind) of \(done.user) \(fault)")
                }
            }
        }
        for (user, stored) in system.database.tables.users
        where stored.changes.map(\.useq) != Array(1..<stored.useq + 1) {
            system.world.violated("the private positions of \(user) are not dense")
        }
    }
}
