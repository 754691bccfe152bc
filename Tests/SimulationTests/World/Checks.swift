import Models
import Reactor

@testable import ParleyCLI

/// What must be so in the end.
@Reactor
enum Checks {
    /// Every request is answered, and every session has had everything.
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

    /// Every member has read everything, alice and bob, who were there all the time, know of all members, and everybody's
    /// devices were told how far their user has read.
    static func areReceiptsEverywhere(_ system: System) -> Bool {
        system.conversations.allSatisfy { id in
            let conversation = system.database.tables.conversations[id]!
            return system.users.filter(conversation.isMember).allSatisfy { user in
                conversation.horizons[user]?.read == conversation.lastSeq
                    && system.database.tables.users[user]?.told[id] == conversation.lastSeq
                    && system.clients.prefix(2).allSatisfy { $0.read[id]?[user.name] == conversation.lastSeq }
            }
        } && system.clients.allSatisfy { $0.useq == privateEnd($0, system) }
    }

    static func missingReceipts(_ system: System) -> String {
        system.conversations.map { id in
            let conversation = system.database.tables.conversations[id]!
            let users = system.users.filter(conversation.isMember).map { user in
                let seen = system.clients.prefix(2).map { "\($0.read[id]?[user.name] ?? 0)" }.joined(separator: ", ")
                return "\(user) read \(conversation.horizons[user]?.read ?? 0), told "
                    + "\(system.database.tables.users[user]?.told[id] ?? 0), seen \(seen)"
            }
            return "of \(conversation.lastSeq): \(users.joined(separator: "; "))"
        }.joined(separator: " | ")
    }

    // MARK: Tables

    /// Positions without a hole, each message once, and everything that was acknowledged is there.
    static func checkTables(_ system: System) {
        for (id, conversation) in system.database.tables.conversations {
            if conversation.entries.map(\.seq) != Array(1...conversation.lastSeq) {
                system.world.violated("the positions of \(id) are not dense")
            }
            let messages = conversation.entries.compactMap(\.message)
            if Set(messages).count != messages.count { system.world.violated("a message is stored twice") }
        }
        for client in system.clients {
            for (id, message, text) in client.acknowledged where !isStored(message, text, client.user, id, system) {
                system.world.violated("an acknowledged message of \(client.user) is not stored")
            }
        }
        for (user, stored) in system.database.tables.users where stored.changes.map(\.useq) != Array(1...stored.useq) {
            system.world.violated("the private positions of \(user) are not dense")
        }
    }

    private static func isStored(
        _ message: MessageID, _ text: String, _ sender: UserID, _ id: ConversationID, _ system: System
    ) -> Bool {
        system.database.tables.conversations[id]!.entries.contains { entry in
            guard case .message(message, text, _) = entry.content else { return false }
            return entry.actor == sender
        }
    }
}
